// What a run did, as it travels. A run may be worked on in several parts (a window ends, a person
// holds it, the worker is restarted); its figures are those of all parts together. Pure.

#ifndef ONEFOLD_WORKER_DAEMON_RUN_FIGURES_H_
#define ONEFOLD_WORKER_DAEMON_RUN_FIGURES_H_

#include "common/run_report.h"
#include "onefold/v1/fleet.pb.h"
#include "worker/progress.h"

namespace onefold {

// Adds the figures and problems of one part to those of the parts before it. Figures that are not
// known of one part are not known of the whole: `unknown_before` says that a part was lost.
void AddPart(const VolumeReport& part, bool unknown_before, v1::RunStatus& status);

// Removes what can no longer be known since a part was lost.
void ForgetFigures(v1::RunFigures& figures);

// Fills in phase, fraction, message and what is known of a part under way on top of the earlier
// ones. What is freed is known only at its end.
void AddLive(const Progress& progress, bool unknown_before, v1::RunStatus& status);

// `text` as a proto can carry it: UTF-8, not too long.
std::string WireText(absl::string_view text);

}  // namespace onefold

#endif  // ONEFOLD_WORKER_DAEMON_RUN_FIGURES_H_
