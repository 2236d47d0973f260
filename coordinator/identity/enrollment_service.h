// EnrollmentService: turns calls into calls of Identity; decides nothing itself.

#ifndef ONEFOLD_COORDINATOR_IDENTITY_ENROLLMENT_SERVICE_H_
#define ONEFOLD_COORDINATOR_IDENTITY_ENROLLMENT_SERVICE_H_

#include "common/clock.h"
#include "coordinator/identity/identity.h"
#include "onefold/v1/enrollment_service.grpc.pb.h"

namespace onefold {

// Thread-safe.
class EnrollmentService final : public v1::EnrollmentService::Service {
 public:
  // Both must outlive the service.
  EnrollmentService(Identity& identity, Clock& clock) : identity_(identity), clock_(clock) {}

  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                    v1::JoinResponse* response) override;
  grpc::Status RenewCertificate(grpc::ServerContext* context,
                                const v1::RenewCertificateRequest* request,
                                v1::RenewCertificateResponse* response) override;

 private:
  Identity& identity_;
  Clock& clock_;
};

}  // namespace onefold

#endif  // ONEFOLD_COORDINATOR_IDENTITY_ENROLLMENT_SERVICE_H_
