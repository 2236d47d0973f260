#include "tests/sim/sim_index.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "coordinator/testing/index_invariants.h"
#include "coordinator/wire_orders.h"

namespace onefold::sim {
namespace {

constexpr index::VolumeBook::Shape kShape = {.block_bytes = 4096, .checksum_kind = 1};
// Groups of one plan: minutes of work, so that leases can end in the middle.
constexpr size_t kPlanGroupsMax = 40;
// Nobody changes what is in scope here.
constexpr index::Circumstances kCircumstances = {.scope_digest = 1, .subvolume_set_digest = 1};

index::Extent ExtentAt(uint64_t address, int duplicate, int64_t generation) {
  index::Extent extent;
  extent.address = address;
  extent.length = 1 + static_cast<uint32_t>(duplicate % 7);
  extent.generation = static_cast<uint64_t>(generation);
  extent.digest = 1'000'000 + static_cast<uint64_t>(duplicate);
  return extent;
}

}  // namespace

std::vector<index::Extent> ScanOf(const Disk& disk, int64_t after) {
  std::vector<index::Extent> rows;
  for (int i = 0; i < disk.duplicate_count; ++i) {
    const int64_t generation = disk.generations[i];
    if (generation <= after) continue;
    rows.push_back(ExtentAt(Disk::AddressOf(i), i, generation));
    if (!disk.folded.contains(i)) rows.push_back(ExtentAt(Disk::CopyOf(i), i, generation));
  }
  return rows;
}

void SimIndex::Open() {
  auto volumes = index::VolumeBook::Open(*store_);
  // Opening drops what an interrupted reset has left; a full disk may be in the way.
  if (!volumes.ok() && disk_full_) {
    store_->FailWrites(absl::OkStatus());
    volumes = index::VolumeBook::Open(*store_);
    FillDisk(true);
  }
  CHECK(volumes.ok());
  volumes_ = *std::move(volumes);
  scans_ = std::make_unique<index::ScanWriter>(*store_);
}

void SimIndex::Close() {
  scans_.reset();
  volumes_.reset();
}

void SimIndex::Lose() {
  CHECK(volumes_ == nullptr);  // only a coordinator that is down can be replaced
  store_ = std::make_unique<index::MemoryStore>();
  FillDisk(disk_full_);
}

void SimIndex::FillDisk(bool full) {
  disk_full_ = full;
  store_->FailWrites(full ? absl::ResourceExhaustedError("disk full") : absl::OkStatus());
}

absl::StatusOr<index::Volume*> SimIndex::Find(const VolumeUuid& volume) const {
  index::Volume* found = volumes_->Find(volume);
  if (found == nullptr) return absl::FailedPreconditionError("sync again");
  return found;
}

absl::StatusOr<IndexPlace> SimIndex::Admit(const VolumeUuid& volume, bool anew, bool run_begins) {
  ASSIGN_OR_RETURN(index::Volume * found,
                   volumes_->FindOrMake(volume, kShape, world_.FindDisk(volume)->generation, anew));
  index::Circumstances now = kCircumstances;
  now.run_begins = run_begins;
  RETURN_IF_ERROR(index::Reconsider(*store_, *found, found->Record().incarnation(), now));
  const index::VolumeRecord record = found->Record();
  return IndexPlace{.incarnation = record.incarnation(),
                    .scanned_generation = record.scanned_generation()};
}

absl::Status SimIndex::Upload(const VolumeUuid& volume, uint64_t incarnation,
                              std::vector<index::Extent> rows, int64_t target_generation) {
  ASSIGN_OR_RETURN(index::Volume * found, Find(volume));
  index::ScanUpload upload(*scans_, *found,
                           {.incarnation = incarnation, .target_generation = target_generation});
  RETURN_IF_ERROR(upload.Add(std::move(rows), 0));
  return upload.End();
}

absl::StatusOr<SimPlan> SimIndex::FetchPlan(const VolumeUuid& volume, uint64_t incarnation) {
  ASSIGN_OR_RETURN(index::Volume * found, Find(volume));
  ASSIGN_OR_RETURN(const auto stream, index::OpenPlan(*store_, *found, incarnation, {}));
  SimPlan plan;
  while (plan.groups.size() < kPlanGroupsMax) {
    ASSIGN_OR_RETURN(std::vector<index::PlanGroup> groups, stream->Next());
    if (groups.empty()) {
      plan.complete = true;
      return plan;
    }
    for (index::PlanGroup& group : groups) plan.groups.push_back(std::move(group));
  }
  return plan;
}

absl::Status SimIndex::Record(const VolumeUuid& volume, uint64_t incarnation,
                              const std::vector<index::ExtentResult>& results) {
  ASSIGN_OR_RETURN(index::Volume * found, Find(volume));
  return index::RecordResults(*store_, *found, incarnation, results);
}

absl::Status SimIndex::EndPlan(const VolumeUuid& volume, uint64_t incarnation) {
  ASSIGN_OR_RETURN(index::Volume * found, Find(volume));
  return index::EndPlan(*store_, *found, incarnation,
                        {.whole = true,
                         .inside = true,
                         .scope_digest = kCircumstances.scope_digest,
                         .subvolume_set_digest = kCircumstances.subvolume_set_digest,
                         .inside_done = true});
}

std::string SimIndex::Check(const Disk& disk) {
  const index::Volume* volume = volumes_->Find(disk.uuid);
  if (volume == nullptr) return "";
  const index::VolumeRecord record = volume->Record();
  const std::vector<std::string> violations = index::Violations(*store_, record);
  if (!violations.empty()) return absl::StrJoin(violations, "; ");
  // What was acknowledged is there: everything up to the cursor.
  std::vector<uint64_t> addresses;
  for (const index::Extent& extent : ScanOf(disk, 0)) {
    if (extent.generation <= static_cast<uint64_t>(record.scanned_generation())) {
      addresses.push_back(extent.address);
    }
  }
  const auto found = index::ReadExtents(*store_, record, addresses);
  if (!found.ok()) return found.status().ToString();
  if (found->size() == addresses.size()) return "";
  return absl::StrCat(addresses.size() - found->size(), " acknowledged extents are not there");
}

}  // namespace onefold::sim
