// EnrollmentService: turns calls into calls of Identity; decides nothing itself.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_ENROLLMENT_SERVICE_H_
#define ONEFOLD_COORDINATOR_IDENTITY_ENROLLMENT_SERVICE_H_

#include "common/clock.h"
#include "common/log.h"
#include "coordinator/identity/identity.h"
#include "onefold/v1/enrollment_service.grpc.pb.h"

namespace onefold {

// Thread-safe.
class EnrollmentService final : public v1::EnrollmentService::Service {
 public:
  // All must outlive the service. `log` may be null.
  EnrollmentService(Identity& identity, Clock& clock, Log* log = nullptr)
      : identity_(identity), clock_(clock), log_(log) {}

  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                    v1::JoinResponse* response) override;
  grpc::Status RenewCertificate(grpc::ServerContext* context,
                                const v1::RenewCertificateRequest* request,
                                v1::RenewCertificateResponse* response) override;

 private:
  Identity& identity_;
  Clock& clock_;
  Log* const log_;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_ENROLLMENT_SERVICE_H_
