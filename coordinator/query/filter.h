// Filter: which of a list are wanted. A subset of AIP-160 (https://google.aip.dev/160):
//
//   filter     := expression               empty: everything
//   expression := sequence ("AND" sequence)*        sequence := factor (" " factor)*, all of them
//   factor     := term ("OR" term)*        binds tighter than AND, as AIP-160 has it
//   term       := ["NOT" | "-"] (comparison | "(" expression ")")
//   comparison := field (= | != | < | <= | > | >= | :) value      field := word ("." word)*
//   value      := word | "quoted, with \" and \\"
//
// "=" of texts takes "*" as any number of characters; ":" means "holds" for texts and is "=" else.
// `labels.site : "*"` asks whether there is one. Texts are compared without regard to case.
//
// Immutable, thread-safe.

#ifndef ONEFOLD_COORDINATOR_QUERY_FILTER_H_
#define ONEFOLD_COORDINATOR_QUERY_FILTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace onefold::query {

class Filter {
 public:
  // What a thing has under a field. monostate: nothing (then only != holds).
  using Value = std::variant<std::monostate, std::string, int64_t, bool, absl::Time>;
  // A field that things may have, and what kind of value.
  enum class Kind { kText, kNumber, kBool, kTime };
  struct Field {
    absl::string_view name;  // "labels." stands for all that begin so
    Kind kind;
  };

  // INVALID_ARGUMENT: malformed, a field that is not among `fields`, a value of the wrong kind, or
  // longer or deeper than is allowed; the message says where.
  static absl::StatusOr<Filter> Parse(absl::string_view text, const std::vector<Field>& fields);

  Filter() = default;  // everything

  bool empty() const { return root_ == nullptr; }
  bool Holds(absl::FunctionRef<Value(absl::string_view field)> value_of) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace onefold::query

#endif  // ONEFOLD_COORDINATOR_QUERY_FILTER_H_
