#include "cli/retry_delay.h"

#include "absl/strings/str_cat.h"
#include "common/network_limits.h"

namespace onefold {
namespace {

class RetryDelay final : public grpc::experimental::Interceptor {
 public:
  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    using Point = grpc::experimental::InterceptionHookPoints;
    if (methods->QueryInterceptionHookPoint(Point::PRE_SEND_STATUS) &&
        methods->GetSendStatus().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      methods->GetSendTrailingMetadata()->emplace(
          kRetryDelayKey, absl::StrCat(absl::ToInt64Milliseconds(kExhaustedRetryDelay)));
    }
    methods->Proceed();
  }
};

class RetryDelayFactory final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo*) override {
    return new RetryDelay;  // gRPC takes it
  }
};

}  // namespace

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewRetryDelayInterceptors() {
  return std::make_unique<RetryDelayFactory>();
}

}  // namespace onefold
