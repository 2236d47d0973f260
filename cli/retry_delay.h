// Tells callers that were refused for want of room (RESOURCE_EXHAUSTED: disk, quota, too many
// calls) how long to wait, in the metadata behind the answer. One place for all services.

#ifndef ONEFOLD_CLI_RETRY_DELAY_H_
#define ONEFOLD_CLI_RETRY_DELAY_H_

#include <grpcpp/support/server_interceptor.h>

#include <memory>

namespace onefold {

// For grpc::ServerBuilder::experimental().SetInterceptorCreators.
std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface> NewRetryDelayInterceptors();

}  // namespace onefold

#endif  // ONEFOLD_CLI_RETRY_DELAY_H_
