// Selector: which volumes are meant, as people write it.
//
//   selector := "all" | term ("," term)*          every term must hold
//   term     := "host=" NAME                      name or id of the host
//             | "label=" LABEL                    label of the filesystem
//             | "uuid=" UUID                      or its first eight digits or more
//             | "label:" KEY "=" VALUE            label of the host, from its configuration
//
// In NAME, LABEL and VALUE "*" stands for any text. Immutable.

#ifndef ONEFOLD_COORDINATOR_FLEET_SELECTOR_H_
#define ONEFOLD_COORDINATOR_FLEET_SELECTOR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace onefold::fleet {

class Selector {
 public:
  // What is looked at of a volume and its host.
  struct Subject {
    absl::string_view host_id;
    absl::string_view host_name;
    absl::string_view volume_label;
    std::string volume_uuid;                                          // as ToString writes it
    const std::map<std::string, std::string>* host_labels = nullptr;  // required
  };

  // INVALID_ARGUMENT with the term and what is possible.
  static absl::StatusOr<Selector> Parse(absl::string_view text);

  bool Matches(const Subject& subject) const;

  // As it was given, blanks left out.
  const std::string& text() const { return text_; }

 private:
  enum class What { kHost, kVolumeLabel, kUuid, kHostLabel };
  struct Term {
    What what;
    std::string key;  // of a host label
    std::string value;
  };

  Selector() = default;
  static absl::StatusOr<Term> ParseTerm(absl::string_view text);
  static bool Matches(const Term& term, const Subject& subject);

  std::vector<Term> terms_;  // empty: all
  std::string text_;
};

// Whether `text` is what `pattern` describes; "*" stands for any text.
bool MatchesPattern(absl::string_view pattern, absl::string_view text);

// The digits of a uuid, or of the beginning of one (at least eight), in lower case without dashes;
// empty if it is none.
std::string UuidDigits(absl::string_view text);

}  // namespace onefold::fleet

#endif  // ONEFOLD_COORDINATOR_FLEET_SELECTOR_H_
