// LiveCalls: the calls that are under way on a server, so that those of a caller who was shut out
// can be ended. The door (grpc_door.h) looks at a call when it begins; a stream may go on for
// hours.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_GRPC_LIVE_CALLS_H_
#define ONEFOLD_COORDINATOR_IDENTITY_GRPC_LIVE_CALLS_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_interceptor.h>

#include <map>
#include <memory>

#include "absl/time/time.h"
#include "common/mutex.h"
#include "coordinator/identity/grpc_caller.h"
#include "coordinator/identity/identity.h"

namespace onefold {

// Thread-safe. Must outlive the server.
class LiveCalls {
 public:
  // For ServerBuilder: they enter each call and take it out before its status is sent.
  std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewInterceptors();

  // Ends calls whose caller's certificate was revoked or has ended: their clients see CANCELLED.
  // Calls that are not older than the last time are left for the next: few live so long, and most
  // are looked at never. To be called about once a second.
  void EndThoseShutOut(const Identity& identity, absl::Time now);

 private:
  class Interceptor;
  class Factory;
  struct Call {
    grpc::ServerContextBase* context = nullptr;
    bool is_old = false;
    ProvenCaller proven;  // unset until it is old
    std::shared_ptr<const grpc::AuthContext> connection;
  };

  void Enter(const void* key, grpc::ServerContextBase* context);
  void TakeOut(const void* key);

  Mutex mutex_;
  std::map<const void*, Call> calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_GRPC_LIVE_CALLS_H_
