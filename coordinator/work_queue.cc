#include "coordinator/work_queue.h"

#include <algorithm>

namespace onefold::index {
namespace {

bool IsQueuedByFlag(const QueueRecord& queue, const Extent& extent) {
  return queue.everything() && extent.complete() && !extent.settled;
}

}  // namespace

const PlanProgress& ProgressOf(const QueueRecord& queue, PlanKind kind) {
  return kind == PlanKind::kWhole ? queue.whole() : queue.inside();
}

bool IsQueued(const QueueRecord& queue, const IndexedExtent& extent) {
  return extent.waiting.has_value() || IsQueuedByFlag(queue, extent.extent);
}

bool WaitsForWhole(const QueueRecord& queue, const IndexedExtent& extent) {
  const uint64_t done_epoch = queue.whole().done_epoch();
  if (extent.waiting) return !extent.waiting->whole_answered && extent.waiting->epoch > done_epoch;
  return IsQueuedByFlag(queue, extent.extent) && !extent.extent.kept &&
         kEverythingEpoch > done_epoch;
}

bool NeedsRow(const QueueRecord& queue) {
  return !queue.everything() || queue.epoch() > kEverythingEpoch;
}

bool FlagWaits(const QueueRecord& queue, PlanKind kind) {
  return queue.everything() && kEverythingEpoch > ProgressOf(queue, kind).done_epoch();
}

bool MayWait(const QueueRecord& queue, PlanKind kind) {
  return queue.queued_count() > 0 && (FlagWaits(queue, kind) || queue.listed_count() > 0);
}

void BeginPlan(QueueRecord& queue, PlanKind kind) {
  PlanProgress& progress =
      kind == PlanKind::kWhole ? *queue.mutable_whole() : *queue.mutable_inside();
  progress.set_planned_epoch(queue.epoch());
  queue.set_epoch(queue.epoch() + 1);
}

uint64_t FinishPlan(QueueRecord& queue, bool whole, bool inside) {
  uint64_t whole_epoch = queue.whole().planned_epoch();
  uint64_t inside_epoch = queue.inside().planned_epoch();
  if (whole && inside) {
    // A kind that found nothing to match may not have been fetched at all.
    if (whole_epoch == 0) whole_epoch = inside_epoch;
    if (inside_epoch < whole_epoch) inside_epoch = whole_epoch;
  }
  PlanProgress& whole_progress = *queue.mutable_whole();
  PlanProgress& inside_progress = *queue.mutable_inside();
  if (whole) whole_progress.set_done_epoch(std::max(whole_progress.done_epoch(), whole_epoch));
  if (inside) inside_progress.set_done_epoch(std::max(inside_progress.done_epoch(), inside_epoch));
  const uint64_t done = std::min(whole_progress.done_epoch(), inside_progress.done_epoch());
  if (done >= kEverythingEpoch && queue.everything()) {
    queue.set_everything(false);
    queue.set_queued_count(queue.listed_count());
  }
  return done;
}

}  // namespace onefold::index
