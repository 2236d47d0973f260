// OperationGate: whoever orders a run may hold up its work, or keep it from starting anything more.
// `onefold dedupe` has none; a worker of a fleet throttles here and obeys its lease.
//
// Thread-safe: asked by all threads that execute.

#ifndef ONEFOLD_WORKER_OPERATION_GATE_H_
#define ONEFOLD_WORKER_OPERATION_GATE_H_

#include <cstdint>

#include "common/stop.h"

namespace onefold {

class OperationGate {
 public:
  virtual ~OperationGate() = default;
  // Waits until so many bytes may be read and so many requests made on top of what was let through
  // before; returns early when `stop` is requested. 0 and 0 asks only whether work is held up.
  virtual void Wait(int64_t read_bytes, int64_t request_count, const StopSignal& stop) = 0;
  // Asked last before each request to the kernel; false: it must not start. Does not block.
  virtual bool MayStart() = 0;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_OPERATION_GATE_H_
