#include "worker/plan_run.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "worker/btrfs_errno.h"
#include "worker/parallel.h"

namespace onefold {
namespace {

// Groups that are settled together: enough to keep all threads busy, few enough that scope is
// checked shortly before files are touched.
constexpr size_t kGroupsPerBatch = 2048;
constexpr size_t kMembersPerBatch = 8192;
// Drops that wait for a commit: about 130 bytes each.
constexpr size_t kPendingMax = 32768;
// Words of addresses remembered in a dry run, 20 bytes each; beyond, the estimate may count an
// extent twice.
constexpr size_t kPlannedMax = 1'000'000;
// Pinned extents remembered in case they turn out to be what is kept: 16 bytes each. Beyond, one
// may be called pinned until the next run.
constexpr size_t kCalledPinnedMax = 262'144;
// How many groups may step aside for others of their batch; further ones wait for the next run.
constexpr size_t kDeferredMax = 4096;
// Nothing is written anew when there is less room than this for data: one batch of 2048 groups
// writes a few MiB as a rule, and others write, too.
constexpr int64_t kDataRoomMin = int64_t{64} << 20;
// Groups in pages whose kept members are remembered: their pages come together.
constexpr size_t kPagedGroupsMax = 1024;

const char* AnswerWord(DedupeAnswer answer) {
  switch (answer) {
    case DedupeAnswer::kSame: return "same";
    case DedupeAnswer::kDiffers: return "differs";
    case DedupeAnswer::kNoProgress: return "no progress";
    case DedupeAnswer::kBusy: return "busy";
    case DedupeAnswer::kChanged: return "changed";
    case DedupeAnswer::kImmutable: return "immutable";
    case DedupeAnswer::kSwapfile: return "active swap file";
    case DedupeAnswer::kReadOnly: return "read-only mount";
    case DedupeAnswer::kOtherMount: return "other mount";
    case DedupeAnswer::kReadError: return "read error";
    case DedupeAnswer::kNoSpace: return "no space";
    case DedupeAnswer::kNoMemory: return "no memory";
    case DedupeAnswer::kNoFiles: return "too many open files";
    case DedupeAnswer::kUnsupported: return "unsupported";
    case DedupeAnswer::kRefused: return "refused";
    case DedupeAnswer::kStopped: return "stopped";
  }
  return "refused";
}

// An extent may be dropped in several steps, when references of it turned up later: it is freed
// once.
std::vector<PendingDrop> OncePerExtent(std::vector<PendingDrop> drops) {
  absl::flat_hash_map<uint64_t, size_t> places;
  std::vector<PendingDrop> merged;
  merged.reserve(drops.size());
  for (PendingDrop& drop : drops) {
    const auto [place, is_new] = places.try_emplace(drop.address, merged.size());
    if (is_new) {
      merged.push_back(std::move(drop));
      continue;
    }
    PendingDrop& before = merged[place->second];
    if (before.generation != drop.generation) {  // the first one is gone, another took its place
      place->second = merged.size();
      merged.push_back(std::move(drop));
      continue;
    }
    before.shared_bytes += drop.shared_bytes;
    before.reference_bytes = std::max(before.reference_bytes, drop.reference_bytes);
    before.moved = drop.moved;
  }
  return merged;
}

}  // namespace

// What one settling thread needs for itself.
struct PlanRun::SettleThread {
  SettleThread(const Parts& parts, ViewCache& views)
      : viewer(parts.volume, parts.scope, parts.subvolumes, parts.limits, &views) {}
  ExtentViewer viewer;
  std::optional<ChecksumReaders> checksums;  // anew for each plan: they remember what they read
};

PlanRun::PlanRun(Parts parts, const PlanOptions& options, const SpaceInfo& space)
    : parts_(parts),
      options_(options),
      executor_(parts.volume,
                {.thread_count = options.execute_threads,
                 .destinations_max = options.destinations_max,
                 .scratch_directory = options.scratch_directory.value_or(InodeId{}),
                 .gate = options.gate},
                parts.stop, parts.progress),
      account_(parts.volume.info().node_bytes, space.metadata_copies),
      planned_(parts.volume.info().block_bytes) {
  for (int i = 0; i < std::max(1, options.settle_threads); ++i) {
    threads_.push_back(std::make_unique<SettleThread>(parts_, views_));
    threads_.back()->viewer.AskAbout(&touched_);
  }
}

PlanRun::~PlanRun() = default;

absl::Status PlanRun::CommitTouched() {
  if (touched_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(parts_.volume.Commit().status(), "committing");
  touched_.clear();
  return absl::OkStatus();
}

absl::Status PlanRun::WorkOnDeferred(PlanKind kind) {
  for (int round = 0; round < 8 && !deferred_.empty() && !parts_.stop.requested() && !ended_early_;
       ++round) {
    runs_.Clear();  // theirs are planned, but nothing came of it yet
    RETURN_IF_ERROR(WorkOn(kind, std::exchange(deferred_, {})));
  }
  for (const Group& group : std::exchange(deferred_, {})) LeaveForNextRun(group);
  return absl::OkStatus();
}

absl::Status PlanRun::Work(PlanKind kind) {
  runs_.Clear();
  for (const auto& thread : threads_) thread->checksums.emplace(parts_.volume);
  RETURN_IF_ERROR(CommitTouched());
  ASSIGN_OR_RETURN(const std::unique_ptr<PlanReader> plan, parts_.coordinator.FetchPlan(kind));
  Groups batch;
  size_t members = 0;
  int64_t expected = 0;
  while (!parts_.stop.requested() && !ended_early_) {
    ASSIGN_OR_RETURN(Groups groups, plan->Next());
    parts_.progress.plan_bytes_total +=
        plan->expected_bytes() - std::exchange(expected, plan->expected_bytes());
    const bool last = groups.empty();
    for (Group& group : groups) {
      members += group.members.size();
      batch.push_back(std::move(group));
    }
    if (last || batch.size() >= kGroupsPerBatch || members >= kMembersPerBatch) {
      RETURN_IF_ERROR(WorkOn(kind, std::exchange(batch, {})));
      members = 0;
    }
    if (last) break;
  }
  RETURN_IF_ERROR(WorkOnWhatWaits(kind));
  return ReportNoted();
}

absl::Status PlanRun::WorkOnWhatWaits(PlanKind kind) {
  RETURN_IF_ERROR(WorkOnDeferred(kind));
  return WorkOnUnpaid(kind);
}

absl::Status PlanRun::WorkOnUnpaid(PlanKind kind) {
  Groups unpaid = std::exchange(unpaid_, {});
  unpaid_extents_.clear();
  if (unpaid.empty()) return absl::OkStatus();
  if (parts_.stop.requested() || ended_early_) {
    for (const Group& group : unpaid) LeaveForNextRun(group);
    return absl::OkStatus();
  }
  // After a commit the extent items tell which leaves were split off meanwhile.
  RETURN_IF_ERROR(CommitTouched());
  runs_.Clear();
  last_word_ = true;
  const absl::Cleanup as_before = [&] { last_word_ = false; };
  RETURN_IF_ERROR(WorkOn(kind, std::move(unpaid)));
  return WorkOnDeferred(kind);
}

absl::Status PlanRun::WorkOn(PlanKind kind, Groups groups) {
  if (groups.empty()) return absl::OkStatus();
  if (options_.gate != nullptr) options_.gate->Wait(0, 0, parts_.stop);
  RETURN_IF_ERROR(CheckRoom());
  if (ended_early_) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<Settled> settled, SettleAll(kind, groups));
  const int64_t done_before = parts_.progress.plan_bytes_done.load();
  std::vector<Drop> drops = Merge(groups, settled);
  LeaveWhatIsNotWritten(drops);
  LeaveWhatDoesNotPay(drops);
  AddExamples(drops);
  if (options_.dry_run) {
    CountDryRun(drops);
  } else {
    RETURN_IF_ERROR(Execute(drops));
  }
  int64_t offered = 0;
  for (const Group& group : groups) {
    if (kind == PlanKind::kInside) {
      offered += group.members[0].length_blocks;
    } else {
      for (size_t i = 1; i < group.members.size(); ++i) offered += group.members[i].length_blocks;
    }
  }
  // What was left alone is decided, too.
  const int64_t done = parts_.progress.plan_bytes_done.load() - done_before;
  parts_.progress.plan_bytes_done +=
      std::max<int64_t>(0, offered * parts_.volume.info().block_bytes - done);
  RETURN_IF_ERROR(ReportNoted());
  if (pending_.size() >= kPendingMax) return Verify();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Settled>> PlanRun::SettleAll(PlanKind kind, const Groups& groups) {
  for (const auto& thread : threads_) thread->viewer.Forget();
  // Pages of one group follow one another and are settled one after the other.
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    GroupPages pages = {};
    std::vector<absl::StatusOr<Settled>> settled = {};
  };
  std::vector<Part> parts;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].paged && !parts.empty() && groups[parts.back().begin].paged &&
        groups[parts.back().begin].digest == groups[i].digest) {
      parts.back().end = i + 1;
      continue;
    }
    parts.push_back({.begin = i, .end = i + 1});
    if (groups[i].paged) parts.back().pages = pages_[groups[i].digest];
  }
  ForEachInParallel(parts.size(), static_cast<int>(threads_.size()), [&](int thread, size_t i) {
    Part& part = parts[i];
    part.settled = SettleOne(kind, groups, part.begin, part.end, *threads_[thread], part.pages);
  });
  std::vector<Settled> values;
  values.reserve(groups.size());
  for (Part& part : parts) {
    for (absl::StatusOr<Settled>& settled : part.settled) {
      ASSIGN_OR_RETURN(Settled value, SettledOrLeft(std::move(settled), groups[values.size()]));
      values.push_back(std::move(value));
    }
    if (!groups[part.begin].paged) continue;
    if (pages_.size() > kPagedGroupsMax) pages_.clear();
    part.pages.EndBatch();
    pages_[groups[part.begin].digest] = std::move(part.pages);
  }
  return values;
}

std::vector<absl::StatusOr<Settled>> PlanRun::SettleOne(PlanKind kind, const Groups& groups,
                                                        size_t begin, size_t end, SettleThread& own,
                                                        GroupPages& pages) {
  const VolumeInfo& info = parts_.volume.info();
  std::vector<absl::StatusOr<Settled>> settled(end - begin, Settled{});
  for (size_t i = begin; i < end && !parts_.stop.requested(); ++i) {
    absl::StatusOr<Settled>& one = settled[i - begin];
    if (kind == PlanKind::kInside) {
      one = SettleInside(groups[i], own.viewer, *own.checksums, info, &runs_, options_.relocation);
    } else if (!groups[i].paged) {
      one = SettleWhole(groups[i], own.viewer, info.block_bytes, options_.relocation);
    } else if (const Group page = pages.Continue(groups[i]); page.members.size() > 1) {
      one = SettleWhole(page, own.viewer, info.block_bytes, options_.relocation);
      if (one.ok()) pages.Note(page, *one);
    }
  }
  return settled;
}

absl::StatusOr<Settled> PlanRun::SettledOrLeft(absl::StatusOr<Settled> settled,
                                               const Group& group) {
  switch (settled.status().code()) {
    case absl::StatusCode::kDataLoss:
      AddProblem(parts_.report,
                 {.reason = "read error",
                  .path = parts_.report.mount,
                  .detail = absl::StrCat(settled.status().message(),
                                         "; check the filesystem with `btrfs scrub`")});
      break;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted: Skip("busy"); break;
    default: return settled;
  }
  Settled left;
  for (const GroupMember& member : group.members) {
    if (!member.queued) continue;
    left.results.push_back(
        {.address = member.address, .generation = member.generation, .outcome = Outcome::kRetry});
  }
  return left;
}

std::vector<Drop> PlanRun::Merge(Groups& groups, std::vector<Settled>& settled) {
  std::vector<Drop> drops;
  absl::flat_hash_set<uint64_t> dropped;
  absl::flat_hash_set<uint64_t> read;
  for (size_t i = 0; i < settled.size(); ++i) {
    Settled& one = settled[i];
    // Nothing is dropped that another group of the batch reads from, or drops as well.
    const bool clashes =
        std::any_of(one.drops.begin(), one.drops.end(),
                    [&](const Drop& drop) {
                      return read.contains(drop.address) || dropped.contains(drop.address);
                    }) ||
        std::any_of(one.sources.begin(), one.sources.end(),
                    [&](uint64_t address) { return dropped.contains(address); });
    if (clashes) {
      Defer(groups[i]);
      continue;
    }
    for (const Drop& drop : one.drops) dropped.insert(drop.address);
    for (const uint64_t address : one.sources) {
      read.insert(address);
      if (const auto pinned = called_pinned_.find(address);
          pinned != called_pinned_.end() && !one.drops.empty()) {
        Note({pinned->first, pinned->second, Outcome::kKept, Holder::kNone, 0});
      }
    }
    if (!options_.dry_run) touched_.insert(one.sources.begin(), one.sources.end());
    for (const ExtentResult& result : one.results) Note(result);
    for (const auto& [pattern, bytes] : one.excluded_bytes) {
      if (pattern == kExcludedBySize) {
        parts_.report.size_excluded_bytes += bytes;
      } else {
        parts_.report.excluded_bytes[parts_.excludes.text(pattern)] += bytes;
      }
    }
    std::move(one.drops.begin(), one.drops.end(), std::back_inserter(drops));
  }
  return drops;
}

void PlanRun::Note(ExtentResult result) {
  if (result.outcome == Outcome::kRetry) ++totals_.retry_count;
  if (result.outcome == Outcome::kPinned) {
    if (called_pinned_.size() < kCalledPinnedMax) {
      called_pinned_[result.address] = result.generation;
    }
  } else {
    called_pinned_.erase(result.address);
  }
  results_.push_back(result);
}

void PlanRun::Defer(Group& group) {
  if (deferred_.size() < kDeferredMax) {
    deferred_.push_back(std::move(group));
  } else {
    LeaveForNextRun(group);
  }
  group.members.resize(1);
}

void PlanRun::LeaveForNextRun(const Group& group) {
  for (const GroupMember& member : group.members) {
    if (member.queued) NoteRetry(member.address, member.generation);
  }
}

void PlanRun::NoteRetry(uint64_t address, uint64_t generation) {
  Note({address, generation, Outcome::kRetry, Holder::kNone, 0});
}

void PlanRun::TryNextTime(uint64_t address, uint64_t generation, const GroupMember& self,
                          const GroupMember& partner) {
  NoteRetry(address, generation);
  // The others too: should the one that was to stay lose its match, it would never be asked about.
  for (const GroupMember* member : {&self, &partner}) {
    if (member->address == 0 || member->address == address) continue;
    NoteRetry(member->address, member->generation);
  }
}

void PlanRun::LeaveWhatIsNotWritten(std::vector<Drop>& drops) {
  if (options_.scratch_directory.has_value() && has_data_room_) return;
  const auto left = std::stable_partition(drops.begin(), drops.end(),
                                          [](const Drop& drop) { return drop.written_bytes == 0; });
  for (auto drop = left; drop != drops.end(); ++drop) {
    totals_.bytes_relocatable += drop->disk_bytes - drop->written_bytes;
    Note({drop->address, drop->generation, Outcome::kPinned, drop->held_by, drop->disk_bytes});
  }
  drops.erase(left, drops.end());
}

void PlanRun::LeaveWhatDoesNotPay(std::vector<Drop>& drops) {
  const std::vector<bool> pays = account_.Decide(drops);
  std::vector<Drop> kept;
  kept.reserve(drops.size());
  for (size_t i = 0; i < drops.size(); ++i) {
    if (pays[i]) {
      kept.push_back(std::move(drops[i]));
    } else if (!last_word_ && unpaid_.size() < kDeferredMax) {
      // Others may yet pay for the leaves it splits off.
      if (unpaid_extents_.insert(drops[i].self.address).second) {
        unpaid_.push_back({.position = "", .members = {drops[i].self, drops[i].partner}});
      }
    } else {
      Note({drops[i].address, drops[i].generation, Outcome::kPinned, Holder::kMetadata,
            drops[i].disk_bytes});
    }
  }
  drops = std::move(kept);
}

void PlanRun::CountDryRun(const std::vector<Drop>& drops) {
  for (const Drop& drop : drops) {
    if (planned_.word_count() < kPlannedMax ? !planned_.insert(drop.address)
                                            : planned_.contains(drop.address)) {
      continue;
    }
    totals_.bytes_freeable += drop.disk_bytes - drop.written_bytes;
    totals_.bytes_shareable += drop.reference_bytes;
    ++totals_.drop_count;
    parts_.progress.moved_bytes += drop.disk_bytes;
  }
}

void PlanRun::AddExamples(const std::vector<Drop>& drops) {
  std::vector<Example>& examples = parts_.report.examples;
  const size_t count_max = static_cast<size_t>(options_.example_count);
  const auto smaller = [](const Example& a, const Example& b) { return a.bytes < b.bytes; };
  for (const Drop& drop : drops) {
    if (count_max == 0 || drop.moves.empty() || planned_.contains(drop.address)) continue;
    const int64_t bytes = drop.disk_bytes - drop.written_bytes;
    const auto least = std::min_element(examples.begin(), examples.end(), smaller);
    if (examples.size() >= count_max && bytes <= least->bytes) continue;
    ExtentViewer& viewer = threads_[0]->viewer;
    // People know their files better than the snapshots of them.
    const Move& move =
        *std::min_element(drop.moves.begin(), drop.moves.end(), [](const Move& a, const Move& b) {
          return std::make_pair(a.relocated, a.destination.subvolume) <
                 std::make_pair(b.relocated, b.destination.subvolume);
        });
    Example example{.source = viewer.PathOf(move.source),
                    .destination = viewer.PathOf(move.destination),
                    .bytes = bytes};
    const auto same_files =
        std::find_if(examples.begin(), examples.end(), [&](const Example& known) {
          return known.source == example.source && known.destination == example.destination;
        });
    if (same_files != examples.end()) {
      same_files->bytes += example.bytes;
    } else if (examples.size() < count_max) {
      examples.push_back(std::move(example));
    } else {
      *least = std::move(example);
    }
  }
}

absl::Status PlanRun::Execute(const std::vector<Drop>& drops) {
  const std::vector<Execution> executions = executor_.Execute(drops);
  for (size_t i = 0; i < drops.size(); ++i) {
    const Drop& drop = drops[i];
    const Execution& execution = executions[i];
    if (execution.moved) ++totals_.drop_count;
    totals_.bytes_written += execution.written_bytes;
    if (execution.moved || execution.shared_bytes > 0) {
      pending_.push_back({.address = drop.address,
                          .generation = drop.generation,
                          .disk_bytes = drop.disk_bytes,
                          .shared_bytes = execution.shared_bytes,
                          .reference_bytes = drop.reference_bytes,
                          .moved = execution.moved,
                          .kind = drop.kind,
                          .self = drop.self,
                          .partner = drop.partner});
    }
    if (!execution.moved) RETURN_IF_ERROR(NoteFailure(drop, execution));
  }
  switch (executor_.fatal()) {
    case DedupeAnswer::kUnsupported:
      return absl::UnimplementedError(
          "the kernel or this filesystem has no FIDEDUPERANGE; nothing can be shared here");
    case DedupeAnswer::kNoSpace:
      ended_early_ = true;
      parts_.report.stopped_because =
          "the filesystem has no room for metadata (or a quota is reached): free some space, or "
          "balance data chunks, then run again";
      break;
    case DedupeAnswer::kReadOnly:
      ended_early_ = true;
      AddProblem(
          parts_.report,
          {.reason = "read-only mount",
           .path = parts_.report.mount,
           .detail = "the kernel answers that the mount is read-only: remount it writable, or "
                     "give a writable mount of the same filesystem"});
      break;
    default: break;
  }
  return absl::OkStatus();
}

absl::Status PlanRun::NoteFailure(const Drop& drop, const Execution& execution) {
  // What the kernel refused now is for the next run, not for another round of this one.
  const absl::Cleanup as_before = [&, count = totals_.retry_count] { totals_.retry_count = count; };
  const auto pin = [&](Holder holder) {
    Note({drop.address, drop.generation, Outcome::kPinned, holder, drop.disk_bytes});
  };
  const auto retry = [&] {
    TryNextTime(drop.address, drop.generation, drop.self, drop.partner);
    if (execution.failure != DedupeAnswer::kStopped) Skip(AnswerWord(execution.failure));
  };
  const auto problem = [&](const std::string& detail) {
    Problem found{.reason = AnswerWord(execution.failure),
                  .path = threads_[0]->viewer.PathOf(execution.failed_file),
                  .detail = detail};
    const std::vector<Problem>& named = parts_.report.problems;
    const bool is_new = std::none_of(named.begin(), named.end(), [&](const Problem& known) {
      return known.reason == found.reason && known.path == found.path;
    });
    if (is_new) AddProblem(parts_.report, std::move(found));
  };
  switch (execution.failure) {
    case DedupeAnswer::kDiffers: {
      // Different bytes under equal checksums, or was the file written meanwhile?
      ExtentViewer& viewer = threads_[0]->viewer;
      viewer.Forget();
      ASSIGN_OR_RETURN(const auto view, viewer.View(drop.address, drop.generation));
      const bool unchanged =
          view && static_cast<int64_t>(view->references.size()) == drop.reference_count;
      Skip(unchanged ? "differs" : "changed");
      if (unchanged) {
        Note({drop.address, drop.generation, Outcome::kDiffers, Holder::kNone, 0});
      } else {
        TryNextTime(drop.address, drop.generation, drop.self, drop.partner);
      }
      break;
    }
    case DedupeAnswer::kImmutable: pin(Holder::kImmutable); break;
    case DedupeAnswer::kSwapfile: pin(Holder::kSwapfile); break;
    case DedupeAnswer::kReadError:
      retry();  // it may be mended, and is named until it is
      problem(
          "the data could not be read (device or checksum error); check the filesystem with "
          "`btrfs scrub`");
      break;
    case DedupeAnswer::kNoFiles:
      retry();
      TellOfOpenFiles();
      break;
    case DedupeAnswer::kOtherMount:
    case DedupeAnswer::kRefused:
      pin(Holder::kRefused);
      problem(execution.error == 0
                  ? "it could not be opened"
                  : std::string(StatusFromErrno(execution.error, "the kernel refused").message()));
      break;
    default: retry(); break;
  }
  return absl::OkStatus();
}

void PlanRun::TellOfOpenFiles() {
  if (std::exchange(told_of_open_files_, true)) return;
  AddProblem(parts_.report,
             {.reason = AnswerWord(DedupeAnswer::kNoFiles),
              .path = parts_.report.mount,
              .detail = "files of it could not be opened: raise the limit of the process "
                        "(ulimit -n) or of the system (sysctl fs.file-max), then run again"});
}

absl::Status PlanRun::Verify() {
  RETURN_IF_ERROR(VerifyPending(/*last_try=*/false));
  // Extents that got a new reference meanwhile were worked on once more.
  RETURN_IF_ERROR(VerifyPending(/*last_try=*/true));
  return ReportNoted();
}

absl::Status PlanRun::VerifyPending(bool last_try) {
  if (pending_.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(parts_.volume.Commit().status(), "committing");
  touched_.clear();
  const std::vector<PendingDrop> pending = OncePerExtent(std::exchange(pending_, {}));
  ASSIGN_OR_RETURN(const std::vector<bool> gone, FindGone(parts_.volume, pending));
  std::map<PlanKind, Groups> again;
  std::vector<PendingDrop> still_there;
  const auto ask_for_all = [&](bool all) {
    for (const auto& thread : threads_) thread->viewer.AskForAllReferences(all);
  };
  ask_for_all(true);
  const absl::Cleanup as_before = [&] { ask_for_all(false); };
  for (size_t i = 0; i < pending.size(); ++i) {
    const PendingDrop& drop = pending[i];
    if (gone[i]) {
      totals_.bytes_shared += drop.shared_bytes;
      if (drop.moved) totals_.bytes_freed += drop.disk_bytes;
      Note({drop.address, drop.generation, drop.moved ? Outcome::kFreed : Outcome::kGone,
            Holder::kNone, 0});
    } else if (!drop.moved) {
      RETURN_IF_ERROR(SettleStillThere(drop));
    } else if (last_try || parts_.stop.requested() || ended_early_) {
      RETURN_IF_ERROR(SettleStillThere(drop));
    } else {
      still_there.push_back(drop);
      again[drop.kind].push_back({.position = "", .members = {drop.self, drop.partner}});
    }
  }
  runs_.Clear();
  for (auto& [kind, groups] : again) {
    RETURN_IF_ERROR(WorkOn(kind, std::move(groups)));
    RETURN_IF_ERROR(WorkOnWhatWaits(kind));
  }
  // What was not worked on again is still held by something.
  absl::flat_hash_set<uint64_t> retried;
  for (PendingDrop& drop : pending_) retried.insert(drop.address);
  std::vector<PendingDrop> tried_twice;
  for (PendingDrop& drop : still_there) {
    if (retried.contains(drop.address)) {
      tried_twice.push_back(std::move(drop));
    } else {
      RETURN_IF_ERROR(SettleStillThere(drop));
    }
  }
  // The moves of the first try count as well: OncePerExtent adds them up.
  pending_.insert(pending_.begin(), std::make_move_iterator(tried_twice.begin()),
                  std::make_move_iterator(tried_twice.end()));
  return absl::OkStatus();
}

absl::Status PlanRun::SettleStillThere(const PendingDrop& pending) {
  ExtentViewer& viewer = threads_[0]->viewer;
  viewer.Forget();
  ASSIGN_OR_RETURN(const auto view, viewer.View(pending.address, pending.generation));
  int64_t remaining = 0;
  if (view) {
    for (const Reference& reference : view->references) remaining += reference.length;
  }
  // Of what the kernel called shared, as much is believed as does not refer to the extent any more.
  totals_.bytes_shared +=
      std::clamp<int64_t>(pending.reference_bytes - remaining, 0, pending.shared_bytes);
  if (!pending.moved) return absl::OkStatus();  // its failure is noted
  const Holder holder = view ? view->FirstHolder() : Holder::kNone;
  if (holder == Holder::kNone) {
    TryNextTime(pending.address, pending.generation, pending.self, pending.partner);
    Skip("changed");
  } else {
    Note({pending.address, pending.generation, Outcome::kPinned, holder, pending.disk_bytes});
  }
  return absl::OkStatus();
}

absl::Status PlanRun::CheckRoom() {
  ASSIGN_OR_RETURN(const SpaceInfo space, parts_.volume.Space());
  const int64_t room = space.metadata_total - space.metadata_used - space.reserved +
                       space.unallocated / space.metadata_copies;
  has_data_room_ = space.data_total - space.data_used + space.unallocated >= kDataRoomMin;
  if (room >= options_.metadata_floor_bytes) return absl::OkStatus();
  ended_early_ = !options_.dry_run;  // which only says what would happen
  parts_.report.stopped_because = absl::StrCat(
      "metadata has only ", room >> 20, " MiB left, less than the ",
      options_.metadata_floor_bytes >> 20,
      " MiB that are kept free: free some space, or balance data chunks (btrfs balance start "
      "-dusage=50), then run again");
  return absl::OkStatus();
}

absl::Status PlanRun::ReportNoted() {
  std::vector<ExtentResult> results = std::exchange(results_, {});
  if (options_.dry_run) {
    for (const ExtentResult& result : results) {
      if (result.outcome == Outcome::kPinned && !planned_.contains(result.address)) {
        totals_.newly_pinned[HolderName(result.holder)] += result.disk_bytes;
      }
    }
    return absl::OkStatus();
  }
  for (size_t at = 0; at < results.size(); at += kResultsPerBatchMax) {
    RETURN_IF_ERROR(parts_.coordinator.ReportResults(absl::MakeConstSpan(results).subspan(
                        at, std::min<size_t>(kResultsPerBatchMax, results.size() - at))),
                    "reporting results");
  }
  return absl::OkStatus();
}

}  // namespace onefold
