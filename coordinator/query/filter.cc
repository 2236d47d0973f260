#include "coordinator/query/filter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace onefold::query {
namespace {

constexpr size_t kFilterBytesMax = 4096;
constexpr int kDepthMax = 32;
constexpr size_t kComparisonsMax = 100;

enum class Operator { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kHas };

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-' || c == '/' || c == '*' ||
         c == '+' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
}

// "*" in `pattern` is any number of characters. Both in lower case. Linear but for the last "*".
bool Matches(absl::string_view pattern, absl::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = absl::string_view::npos;
  size_t from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != absl::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

template <typename T>
bool Compare(Operator op, const T& a, const T& b) {
  switch (op) {
    case Operator::kEqual:
    case Operator::kHas: return a == b;
    case Operator::kNotEqual: return a != b;
    case Operator::kLess: return a < b;
    case Operator::kLessEqual: return a <= b;
    case Operator::kGreater: return a > b;
    case Operator::kGreaterEqual: return a >= b;
  }
  return false;
}

bool CompareTexts(Operator op, const std::string& text, const std::string& wanted) {
  const std::string lower = absl::AsciiStrToLower(text);
  switch (op) {
    case Operator::kEqual: return Matches(wanted, lower);
    case Operator::kNotEqual: return !Matches(wanted, lower);
    case Operator::kHas:
      return wanted.find('*') == wanted.npos ? absl::StrContains(lower, wanted)
                                             : Matches(wanted, lower);
    default: return Compare(op, lower, wanted);
  }
}

}  // namespace

struct Filter::Node {
  enum class Type { kAnd, kOr, kNot, kComparison };
  Type type = Type::kAnd;
  std::vector<Node> parts = {};
  // Of a comparison.
  std::string field = {};
  Operator op = Operator::kEqual;
  Value value = {};

  bool Holds(absl::FunctionRef<Value(absl::string_view)> value_of) const {
    const auto holds = [&](const Node& part) { return part.Holds(value_of); };
    switch (type) {
      case Type::kAnd: return std::all_of(parts.begin(), parts.end(), holds);
      case Type::kOr: return std::any_of(parts.begin(), parts.end(), holds);
      case Type::kNot: return !parts.front().Holds(value_of);
      case Type::kComparison: break;
    }
    const Value has = value_of(field);
    if (has.index() != value.index()) return op == Operator::kNotEqual;
    if (const auto* text = std::get_if<std::string>(&has)) {
      return CompareTexts(op, *text, std::get<std::string>(value));
    }
    if (const auto* number = std::get_if<int64_t>(&has)) {
      return Compare(op, *number, std::get<int64_t>(value));
    }
    if (const auto* flag = std::get_if<bool>(&has)) {
      return Compare(op, *flag, std::get<bool>(value));
    }
    if (const auto* time = std::get_if<absl::Time>(&has)) {
      return Compare(op, *time, std::get<absl::Time>(value));
    }
    return false;
  }
};

namespace {

using Node = Filter::Node;

class Parser {
 public:
  Parser(absl::string_view text, const std::vector<Filter::Field>& fields)
      : text_(text), fields_(fields) {}

  absl::StatusOr<Node> ParseAll() {
    ASSIGN_OR_RETURN(Node node, Expression(0));
    if (!AtEnd()) return Wrong("unexpected");
    return node;
  }

 private:
  absl::Status Wrong(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("filter: ", what, " at character ", at_ + 1, ": \"",
                     text_.substr(at_, std::min<size_t>(20, text_.size() - at_)), "\""));
  }

  void SkipBlanks() {
    while (at_ < text_.size() && absl::ascii_isspace(text_[at_])) ++at_;
  }
  bool AtEnd() {
    SkipBlanks();
    return at_ == text_.size();
  }
  absl::string_view PeekWord() {
    SkipBlanks();
    size_t end = at_;
    while (end < text_.size() && IsWordCharacter(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool Take(absl::string_view token) {
    SkipBlanks();
    if (!absl::StartsWith(text_.substr(at_), token)) return false;
    at_ += token.size();
    return true;
  }
  bool TakeKeyword(absl::string_view keyword) {
    if (PeekWord() != keyword) return false;
    at_ += keyword.size();
    return true;
  }

  absl::StatusOr<Node> Expression(int depth) {
    if (depth > kDepthMax) return Wrong("parentheses too deep");
    Node all{.type = Node::Type::kAnd};
    while (true) {
      ASSIGN_OR_RETURN(Node factor, Factor(depth));
      all.parts.push_back(std::move(factor));
      if (TakeKeyword("AND")) continue;
      if (AtEnd() || text_[at_] == ')') break;  // blanks alone mean AND, too
    }
    return all;
  }

  absl::StatusOr<Node> Factor(int depth) {
    Node any{.type = Node::Type::kOr};
    do {
      ASSIGN_OR_RETURN(Node term, Term(depth));
      any.parts.push_back(std::move(term));
    } while (TakeKeyword("OR"));
    return any;
  }

  absl::StatusOr<Node> Term(int depth) {
    if (TakeKeyword("NOT") || Take("-")) {
      if (depth >= kDepthMax) return Wrong("too many NOT");
      ASSIGN_OR_RETURN(Node term, Term(depth + 1));
      Node no{.type = Node::Type::kNot};
      no.parts.push_back(std::move(term));
      return no;
    }
    if (Take("(")) {
      ASSIGN_OR_RETURN(Node inner, Expression(depth + 1));
      if (!Take(")")) return Wrong("\")\" is missing");
      return inner;
    }
    return Comparison();
  }

  absl::StatusOr<Node> Comparison() {
    if (++comparisons_ > kComparisonsMax) return Wrong("more than 100 comparisons");
    const absl::string_view name = PeekWord();
    if (name.empty()) return Wrong("a field is missing");
    const auto field = std::find_if(fields_.begin(), fields_.end(), [&](const Filter::Field& each) {
      if (!absl::EndsWith(each.name, ".")) return each.name == name;
      return absl::StartsWith(name, each.name) && name != each.name;
    });
    if (field == fields_.end()) return Wrong(absl::StrCat("no such field (", FieldNames(), ")"));
    Node node{.type = Node::Type::kComparison, .field = std::string(name)};
    at_ += name.size();
    ASSIGN_OR_RETURN(node.op, ParseOperator());
    ASSIGN_OR_RETURN(const std::string value, ParseValue());
    ASSIGN_OR_RETURN(node.value, ToValue(field->kind, value));
    return node;
  }

  absl::StatusOr<Operator> ParseOperator() {
    constexpr std::pair<absl::string_view, Operator> kOperators[] = {
        {"!=", Operator::kNotEqual}, {"<=", Operator::kLessEqual}, {">=", Operator::kGreaterEqual},
        {"=", Operator::kEqual},     {"<", Operator::kLess},       {">", Operator::kGreater},
        {":", Operator::kHas}};
    for (const auto& [token, op] : kOperators) {
      if (Take(token)) return op;
    }
    return Wrong("one of = != < <= > >= : is missing");
  }

  absl::StatusOr<std::string> ParseValue() {
    SkipBlanks();
    if (at_ < text_.size() && text_[at_] == '"') {
      const size_t begin = at_++;
      std::string value;
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
        value.push_back(text_[at_++]);
      }
      if (at_ == text_.size()) {
        at_ = begin;
        return Wrong("a quote is not closed");
      }
      ++at_;
      return value;
    }
    const absl::string_view begin = PeekWord();
    // Times are written without quotes, too: 2026-11-30T22:00:00Z.
    size_t end = at_ + begin.size();
    while (end < text_.size() && (IsWordCharacter(text_[end]) || text_[end] == ':')) ++end;
    const std::string value(text_.substr(at_, end - at_));
    if (value.empty()) return Wrong("a value is missing");
    at_ = end;
    return value;
  }

  absl::StatusOr<Filter::Value> ToValue(Filter::Kind kind, const std::string& text) {
    switch (kind) {
      case Filter::Kind::kText: return absl::AsciiStrToLower(text);
      case Filter::Kind::kNumber: {
        int64_t number = 0;
        if (!absl::SimpleAtoi(text, &number)) return Wrong("a whole number is wanted before");
        return number;
      }
      case Filter::Kind::kBool:
        if (text == "true") return true;
        if (text == "false") return false;
        return Wrong("true or false is wanted before");
      case Filter::Kind::kTime: {
        absl::Time time;
        std::string why;
        if (!absl::ParseTime(absl::RFC3339_full, text, &time, &why)) {
          return Wrong("a time as 2026-11-30T22:00:00Z is wanted before");
        }
        return time;
      }
    }
    return Wrong("unexpected");
  }

  std::string FieldNames() const {
    std::string names;
    for (const Filter::Field& field : fields_) {
      absl::StrAppend(&names, names.empty() ? "" : ", ", field.name,
                      absl::EndsWith(field.name, ".") ? "KEY" : "");
    }
    return names;
  }

  const absl::string_view text_;
  const std::vector<Filter::Field>& fields_;
  size_t at_ = 0;
  size_t comparisons_ = 0;
};

}  // namespace

absl::StatusOr<Filter> Filter::Parse(absl::string_view text, const std::vector<Field>& fields) {
  Filter filter;
  if (absl::StripAsciiWhitespace(text).empty()) return filter;
  if (text.size() > kFilterBytesMax) {
    return absl::InvalidArgumentError("filter: longer than 4096 bytes");
  }
  ASSIGN_OR_RETURN(Node root, Parser(text, fields).ParseAll());
  filter.root_ = std::make_shared<const Node>(std::move(root));
  return filter;
}

bool Filter::Holds(absl::FunctionRef<Value(absl::string_view field)> value_of) const {
  return root_ == nullptr || root_->Holds(value_of);
}

}  // namespace onefold::query
