#include "coordinator/identity/grpc_live_calls.h"

#include <utility>

namespace onefold {

class LiveCalls::Interceptor final : public grpc::experimental::Interceptor {
 public:
  Interceptor(LiveCalls& calls, grpc::ServerContextBase* context)
      : calls_(calls), context_(context) {}
  ~Interceptor() override { calls_.TakeOut(this); }

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    // The context has its call by now, and nobody else looks at it yet.
    if (methods->QueryInterceptionHookPoint(Point::POST_RECV_INITIAL_METADATA)) {
      calls_.Enter(this, context_);
    }
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS)) calls_.TakeOut(this);
    methods->Proceed();
  }

 private:
  LiveCalls& calls_;
  grpc::ServerContextBase* const context_;
};

class LiveCalls::Factory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit Factory(LiveCalls& calls) : calls_(calls) {}
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override {
    return new Interceptor(calls_, info->server_context());  // gRPC takes it
  }

 private:
  LiveCalls& calls_;
};

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
LiveCalls::NewInterceptors() {
  return std::make_unique<Factory>(*this);
}

void LiveCalls::Enter(const void* key, grpc::ServerContextBase* context) {
  // Asked for here because the context remembers it, for the handler's thread alone.
  Call call;
  call.context = context;
  call.connection = context->auth_context();
  MutexLock lock(&mutex_);
  calls_[key] = std::move(call);
}

void LiveCalls::TakeOut(const void* key) {
  MutexLock lock(&mutex_);
  calls_.erase(key);
}

void LiveCalls::EndThoseShutOut(const Identity& identity, absl::Time now) {
  MutexLock lock(&mutex_);  // no call ends meanwhile, so that its context is there
  for (auto& [key, call] : calls_) {
    if (!call.is_old) {
      call.is_old = true;
      continue;
    }
    if (call.connection != nullptr) {
      const absl::StatusOr<ProvenCaller> proven = ProvenCallerOf(call.connection.get());
      call.connection = nullptr;
      if (proven.ok()) call.proven = *proven;
    }
    if (now >= call.proven.expire_time ||
        identity.IsRevoked(call.proven.caller, call.proven.serial)) {
      call.context->TryCancel();
    }
  }
}

}  // namespace onefold
