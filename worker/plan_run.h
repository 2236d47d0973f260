// PlanRun: works through a plan: settles groups, decides what pays, executes, verifies after a
// commit and reports outcomes. The part of a run that touches files.

#ifndef ONEFOLD_WORKER_PLAN_RUN_H_
#define ONEFOLD_WORKER_PLAN_RUN_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "common/run_report.h"
#include "common/stop.h"
#include "worker/address_set.h"
#include "worker/coordinator_client.h"
#include "worker/executor.h"
#include "worker/extent_view.h"
#include "worker/group_pages.h"
#include "worker/metadata_account.h"
#include "worker/progress.h"
#include "worker/settle.h"
#include "worker/verifier.h"
#include "worker/view_cache.h"
#include "worker/volume.h"

namespace onefold {

struct PlanOptions {
  bool dry_run = false;
  int execute_threads = 4;
  int settle_threads = 2;
  size_t destinations_max = 8;
  int example_count = 0;
  // Where a run stops rather than fill the filesystem's metadata.
  int64_t metadata_floor_bytes = 0;
  // What may be written anew, and where (a directory in scope). Without a directory nothing is
  // written, and what would be is counted.
  RelocationLimit relocation = {};
  std::optional<InodeId> scratch_directory = std::nullopt;
  OperationGate* gate = nullptr;  // must outlive the run; nullptr: always open
};

// What a plan's work added up to.
struct PlanTotals {
  int64_t bytes_shared = 0;
  int64_t bytes_freed = 0;                      // of extents that are gone
  int64_t bytes_written = 0;                    // anew, in use
  int64_t bytes_relocatable = 0;                // what writing would have freed, net
  int64_t bytes_freeable = 0;                   // dry runs
  int64_t bytes_shareable = 0;                  // dry runs
  std::map<std::string, int64_t> newly_pinned;  // holder → on-disk bytes; dry runs
  int64_t retry_count = 0;                      // outcomes that were put off, but for failures
  int64_t drop_count = 0;  // extents that were (or, in a dry run, would be) dropped
};

class PlanRun {
 public:
  struct Parts {
    Volume& volume;
    CoordinatorClient& coordinator;
    Scope& scope;
    Subvolumes& subvolumes;
    const FileLimits& limits;
    const ExcludeList& excludes;
    StopSignal& stop;
    Progress& progress;
    VolumeReport& report;  // problems, skipped, examples, excluded bytes go here
  };

  // `parts` must outlive this object.
  PlanRun(Parts parts, const PlanOptions& options, const SpaceInfo& space);
  ~PlanRun();

  // Works through the plan of `kind`. OK when stopped, too.
  absl::Status Work(PlanKind kind);

  // Commits, finds out what is gone, reports; tries once more what is not. Idempotent.
  absl::Status Verify();

  // Whether the work ended before the plan did, other than by the stop signal.
  bool ended_early() const { return ended_early_; }
  const PlanTotals& totals() const { return totals_; }

 private:
  struct SettleThread;
  using Groups = std::vector<Group>;

  absl::Status WorkOn(PlanKind kind, Groups groups);
  // Commits if something was moved since the last time.
  absl::Status CommitTouched();
  // Groups that stepped aside get their turn; what steps aside again and again waits for the next
  // run.
  absl::Status WorkOnDeferred(PlanKind kind);
  // Both: WorkOnDeferred, WorkOnUnpaid.
  absl::Status WorkOnWhatWaits(PlanKind kind);
  // Decides for good on what did not pay when its batch was decided.
  absl::Status WorkOnUnpaid(PlanKind kind);
  absl::StatusOr<std::vector<Settled>> SettleAll(PlanKind kind, const Groups& groups);
  // Settles groups [begin, end): one, or pages of one group.
  std::vector<absl::StatusOr<Settled>> SettleOne(PlanKind kind, const Groups& groups, size_t begin,
                                                 size_t end, SettleThread& own, GroupPages& pages);
  // Turns the error of one group into results and a problem, if the others can go on.
  absl::StatusOr<Settled> SettledOrLeft(absl::StatusOr<Settled> settled, const Group& group);
  // Merges what groups settled on; groups that would drop what another one reads from are deferred.
  std::vector<Drop> Merge(Groups& groups, std::vector<Settled>& settled);
  // Gives `group` a turn later; of `group` itself a member is left.
  void Defer(Group& group);
  void LeaveForNextRun(const Group& group);
  // What became of an extent is not known: it and those of its group are asked about again.
  void TryNextTime(uint64_t address, uint64_t generation, const GroupMember& self,
                   const GroupMember& partner);
  // Without permission or room to write.
  void LeaveWhatIsNotWritten(std::vector<Drop>& drops);
  void LeaveWhatDoesNotPay(std::vector<Drop>& drops);
  void CountDryRun(const std::vector<Drop>& drops);
  absl::Status Execute(const std::vector<Drop>& drops);
  void AddExamples(const std::vector<Drop>& drops);
  // The final outcome of a drop that failed.
  absl::Status NoteFailure(const Drop& drop, const Execution& execution);
  absl::Status VerifyPending(bool last_try);
  absl::Status SettleStillThere(const PendingDrop& pending);
  // Stops the run if metadata space is about to run out.
  absl::Status CheckRoom();
  void Note(ExtentResult result);
  // It stays queued.
  void NoteRetry(uint64_t address, uint64_t generation);
  absl::Status ReportNoted();
  void Skip(const std::string& reason) { ++parts_.report.counters.skipped[reason]; }
  // That the limit of open files is reached: once, not for each of a million extents.
  void TellOfOpenFiles();

  Parts parts_;
  const PlanOptions options_;
  Executor executor_;
  MetadataAccount account_;
  ViewCache views_;
  // Extents that got references since the last commit: their items do not tell of them yet.
  absl::flat_hash_set<uint64_t> touched_;
  // Extents that this run called pinned, with their generations: another group may find out that
  // they are what it keeps.
  absl::flat_hash_map<uint64_t, uint64_t> called_pinned_;
  std::vector<std::unique_ptr<SettleThread>> threads_;
  std::vector<PendingDrop> pending_;
  std::vector<ExtentResult> results_;
  Groups deferred_;
  // What did not pay so far, and the extents it is of.
  Groups unpaid_;
  absl::flat_hash_set<uint64_t> unpaid_extents_;
  bool last_word_ = false;
  bool told_of_open_files_ = false;
  InsideRuns runs_;
  // Groups that come in pages, by digest.
  std::map<uint64_t, GroupPages> pages_;
  // Dry runs: extents that a real run would have dropped already.
  AddressSet planned_;
  PlanTotals totals_;
  bool ended_early_ = false;
  bool has_data_room_ = true;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_PLAN_RUN_H_
