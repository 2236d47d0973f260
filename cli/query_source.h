// Where the commands that show things ask: a coordinator, or a state directory of this machine.
//
// A directory whose process serves it is asked through the socket in it; else its databases are
// opened for reading only, in this process. Both answer the same questions the same way.

#ifndef ONEFOLD_CLI_QUERY_SOURCE_H_
#define ONEFOLD_CLI_QUERY_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/fleet/connection.h"
#include "common/clock.h"
#include "onefold/v1/query_service.grpc.pb.h"

namespace grpc {
class Channel;
}

namespace onefold {

struct QuerySourceArguments {
  ConnectionArguments connection;
  // --state; empty: not given.
  std::string state_directory;
};

// Thread-safe.
class QuerySource {
 public:
  virtual ~QuerySource() = default;

  virtual v1::QueryService::StubInterface& queries() = 0;
  // Reaches the other services, too, where there is a coordinator.
  virtual std::shared_ptr<grpc::Channel> channel() = 0;
  // Who answers, for people and messages: "nas1:7171" or the directory.
  virtual const std::string& name() const = 0;
  // A state directory is read and nobody serves it: nothing changes while one looks.
  virtual bool is_still() const = 0;
};

// --state is a directory; else a coordinator that is named anywhere (see FindConnection) or has a
// socket on this machine; else the default state directory, if there is one. `clock` must outlive
// the source.
//
// NOT_FOUND            there is no such directory, or nothing in it.
// FAILED_PRECONDITION  see FindConnection; also a directory that is not ours or of a newer version.
// PERMISSION_DENIED    the directory is somebody else's (root's, as a rule).
// DATA_LOSS            what is in it is damaged.
absl::StatusOr<std::unique_ptr<QuerySource>> OpenQuerySource(const QuerySourceArguments& arguments,
                                                             Clock& clock);

// A source of this state directory, as OpenQuerySource chooses one.
absl::StatusOr<std::unique_ptr<QuerySource>> OpenStateDirectory(const std::string& directory,
                                                                Clock& clock);

}  // namespace onefold

#endif  // ONEFOLD_CLI_QUERY_SOURCE_H_
