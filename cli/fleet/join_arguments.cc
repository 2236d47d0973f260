#include "cli/fleet/join_arguments.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/escape.h"
#include "common/status_macros.h"

namespace onefold {
namespace {

constexpr int kCoordinatorPort = 7171;
constexpr size_t kNameBytesMax = 253;
constexpr size_t kPathBytesMax = 4095;
constexpr size_t kAllowMax = 1000;

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

// They go into a text file that people read.
bool IsPlainText(absl::string_view text) {
  return IsUtf8(text) && std::none_of(text.begin(), text.end(),
                                      [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

absl::StatusOr<std::string> AbsolutePath(absl::string_view option, const std::string& text) {
  if (text.empty() || text.front() != '/' || text.size() > kPathBytesMax || !IsPlainText(text)) {
    return Wrong(absl::StrCat(option, ": '", Escape(text), "' is no absolute path"));
  }
  std::string path = std::filesystem::path(text).lexically_normal().string();
  if (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

absl::Status ParseInvitation(const std::string& text, JoinArguments& to) {
  const size_t at = text.find('@');
  if (at == std::string::npos) {
    return Wrong("TOKEN@HOST:PORT is needed, as `onefold fleet token create` prints it");
  }
  ASSIGN_OR_RETURN(to.token, identity::ParseJoinToken(absl::string_view(text).substr(0, at)));
  std::string address = text.substr(at + 1);
  absl::StatusOr<HostAndPort> parsed = ParseHostAndPort(address);
  if (!parsed.ok()) parsed = ParseHostAndPort(absl::StrCat(address, ":", kCoordinatorPort));
  if (!parsed.ok()) return ParseHostAndPort(address).status();
  to.coordinator = *parsed;
  return absl::OkStatus();
}

absl::Status SetOption(const std::string& name, const std::string& value, JoinArguments& to) {
  if (name == "--allow") {
    ASSIGN_OR_RETURN(std::string path, AbsolutePath(name, value));
    to.allow.push_back(std::move(path));
    return to.allow.size() <= kAllowMax ? absl::OkStatus() : Wrong("too many --allow");
  }
  if (name == "--name") {
    if (value.empty() || value.size() > kNameBytesMax || !IsPlainText(value)) {
      return Wrong("--name: a name for people, of at most 253 bytes");
    }
    to.name = value;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::string path, AbsolutePath(name, value));
  (name == "--config" ? to.config_file : to.state_directory) = std::move(path);
  return absl::OkStatus();
}

bool TakesValue(absl::string_view name) {
  return name == "--allow" || name == "--name" || name == "--state-directory" || name == "--config";
}

}  // namespace

absl::StatusOr<JoinArguments> ParseJoin(const std::vector<std::string>& arguments) {
  JoinArguments parsed;
  std::optional<std::string> invitation;
  bool options_ended = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (options_ended || !absl::StartsWith(argument, "--")) {
      if (invitation.has_value()) return Wrong("one TOKEN@HOST:PORT, and no more");
      invitation = argument;
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (argument == "--") {
      options_ended = true;
    } else if (argument == "--rejoin") {
      parsed.rejoin = true;
    } else if (argument == "--if-needed") {
      parsed.if_needed = true;
    } else if (argument == "--json") {
      parsed.json = true;
    } else if (!TakesValue(name)) {
      return Wrong(absl::StrCat("there is no option ", Escape(name)));
    } else if (equals != std::string::npos) {
      RETURN_IF_ERROR(SetOption(name, argument.substr(equals + 1), parsed));
    } else if (++i < arguments.size()) {
      RETURN_IF_ERROR(SetOption(name, arguments[i], parsed));
    } else {
      return Wrong(absl::StrCat(name, " needs a value"));
    }
  }
  RETURN_IF_ERROR(ParseInvitation(invitation.value_or(""), parsed));
  return parsed;
}

}  // namespace onefold
