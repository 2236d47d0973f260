#include "coordinator/query/filter.h"

#include <gtest/gtest.h>

#include <random>

namespace onefold::query {
namespace {

const std::vector<Filter::Field>& Fields() {
  static const auto* const fields =
      new std::vector<Filter::Field>{{"name", Filter::Kind::kText},
                                     {"size_bytes", Filter::Kind::kNumber},
                                     {"connected", Filter::Kind::kBool},
                                     {"end_time", Filter::Kind::kTime},
                                     {"labels.", Filter::Kind::kText}};
  return *fields;
}

Filter::Value ValueOf(absl::string_view field) {
  if (field == "name") return std::string("Films \"4K\"");
  if (field == "size_bytes") return int64_t{4096};
  if (field == "connected") return true;
  if (field == "end_time") return absl::FromUnixSeconds(1'790'000'000);
  if (field == "labels.site") return std::string("attic");
  return {};
}

bool Holds(absl::string_view text) {
  const absl::StatusOr<Filter> filter = Filter::Parse(text, Fields());
  EXPECT_TRUE(filter.ok()) << text << ": " << filter.status();
  return filter.ok() && filter->Holds(ValueOf);
}

TEST(FilterTest, Compares) {
  EXPECT_TRUE(Holds(""));
  EXPECT_TRUE(Holds("  "));
  EXPECT_TRUE(Holds("size_bytes=4096"));
  EXPECT_FALSE(Holds("size_bytes < 4096"));
  EXPECT_TRUE(Holds("size_bytes<=4096"));
  EXPECT_TRUE(Holds("size_bytes > -1"));
  EXPECT_TRUE(Holds("size_bytes != 1"));
  EXPECT_TRUE(Holds("connected = true"));
  EXPECT_TRUE(Holds("name = \"films \\\"4k\\\"\""));
  EXPECT_TRUE(Holds("name = films*"));
  EXPECT_FALSE(Holds("name = films"));
  EXPECT_TRUE(Holds("name : ilm"));
  EXPECT_TRUE(Holds("end_time > 2026-01-01T00:00:00Z"));
  EXPECT_FALSE(Holds("end_time > \"2036-01-01T00:00:00+02:00\""));
}

TEST(FilterTest, WhatIsNotThere) {
  EXPECT_TRUE(Holds("labels.site = attic"));
  EXPECT_TRUE(Holds("labels.site : *"));
  EXPECT_FALSE(Holds("labels.rack : *"));
  EXPECT_TRUE(Holds("labels.rack != 7"));
  EXPECT_TRUE(Holds("NOT labels.rack : *"));
  EXPECT_TRUE(Holds("-labels.rack : *"));
}

// OR binds tighter than AND; blanks alone mean AND.
TEST(FilterTest, Joins) {
  EXPECT_TRUE(Holds("connected=true AND size_bytes=1 OR size_bytes=4096"));
  EXPECT_FALSE(Holds("size_bytes=4096 OR size_bytes=1 AND connected=false"));
  EXPECT_TRUE(Holds("size_bytes=4096 OR (size_bytes=1 AND connected=false)"));
  EXPECT_FALSE(Holds("size_bytes=4096 connected=false"));
  EXPECT_TRUE(Holds("NOT (size_bytes=1 OR connected=false)"));
}

TEST(FilterTest, SaysWhatIsWrong) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"nonsense", "no such field"},
           {"size_bytes", "one of = !="},
           {"size_bytes =", "a value is missing"},
           {"size_bytes = many", "a whole number"},
           {"size_bytes = 99999999999999999999", "a whole number"},
           {"connected = yes", "true or false"},
           {"end_time > yesterday", "a time as"},
           {"name = \"open", "a quote is not closed"},
           {"(name = a", "\")\" is missing"},
           {"name = a)", "unexpected"},
           {"labels. = a", "no such field"},
           {"name = a AND", "a field is missing"},
           {std::string(1000, '('), "too deep"},
           {std::string(5000, ' ') + "x", "longer than"}}) {
    const absl::StatusOr<Filter> filter = Filter::Parse(text, Fields());
    ASSERT_FALSE(filter.ok()) << text;
    EXPECT_EQ(filter.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(filter.status().message().find(says), absl::string_view::npos) << filter.status();
  }
  std::string many = "name=a";
  for (int i = 0; i < 100; ++i) many += " name=a";
  EXPECT_FALSE(Filter::Parse(many, Fields()).ok());
  std::string deep;
  for (int i = 0; i < 500; ++i) deep += "NOT ";
  EXPECT_FALSE(Filter::Parse(deep + "name=a", Fields()).ok());
}

// Whatever is sent, there is an answer.
TEST(FilterTest, AnyBytes) {
  std::mt19937 random(1);
  const std::string letters = "name=size_bytes<>!:()\"\\ANDORNOT -*.\xff\n0";
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (size_t left = random() % 40; left > 0; --left) {
      text.push_back(letters[random() % letters.size()]);
    }
    const absl::StatusOr<Filter> filter = Filter::Parse(text, Fields());
    if (filter.ok()) filter->Holds(ValueOf);
  }
}

}  // namespace
}  // namespace onefold::query
