// What a gate does to the executor: holds it up, and closes.

#include <chrono>
#include <vector>

#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/executor.h"
#include "worker/testing/fake_volume.h"

namespace onefold {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kBlock = 4096;

class FakeGate final : public OperationGate {
 public:
  int64_t bytes = 0;
  int64_t requests = 0;
  int open_for = 1 << 30;  // questions that are answered yes

  void Wait(int64_t read_bytes, int64_t request_count, const StopSignal&) override {
    bytes += read_bytes;
    requests += request_count;
  }
  bool MayStart() override { return open_for-- > 0; }
};

class ExecutorGateTest : public ::testing::Test {
 protected:
  ExecutorGateTest() {
    const InodeId source = AddFile("abcd");
    for (const char* data : {"abcd", "abcd", "efgh"}) copies_.push_back(AddFile(data));
    for (const InodeId& copy : copies_) {
      Drop drop;
      drop.address = volume_.ExtentsOf(copy).front();
      drop.moves.push_back({.source = source, .destination = copy, .length = 4 * kBlock});
      drops_.push_back(drop);
    }
  }
  InodeId AddFile(const Blocks& blocks) {
    const InodeId file = volume_.AddFile("f");
    volume_.Append(file, blocks);
    return file;
  }
  std::vector<Execution> Execute() {
    Executor executor(volume_, {.thread_count = 1, .destinations_max = 1, .gate = &gate_}, stop_,
                      progress_);
    return executor.Execute(drops_);
  }

  FakeVolume volume_;
  FakeGate gate_;
  StopSignal stop_;
  Progress progress_;
  std::vector<InodeId> copies_;
  std::vector<Drop> drops_;
};

TEST_F(ExecutorGateTest, WhatIsReadAndAskedIsAskedForBefore) {
  const std::vector<Execution> executions = Execute();
  EXPECT_TRUE(executions[0].moved && executions[1].moved);
  EXPECT_EQ(gate_.requests, 3);
  EXPECT_EQ(gate_.bytes, 3 * 2 * 4 * kBlock);
}

// Under a lost lease somebody else may be at work on the same files.
TEST_F(ExecutorGateTest, BehindAClosedGateNothingStarts) {
  gate_.open_for = 0;
  for (const Execution& execution : Execute()) {
    EXPECT_FALSE(execution.moved);
    EXPECT_EQ(execution.failure, DedupeAnswer::kStopped);
  }
  EXPECT_THAT(volume_.dedupe_calls(), IsEmpty());
  EXPECT_EQ(progress_.file_bytes_read.load(), 0);
}

TEST_F(ExecutorGateTest, AGateThatClosesInTheMiddleLeavesTheRest) {
  for (int open_for = 1; open_for < 8; ++open_for) {
    FakeGate& gate = gate_;
    gate.open_for = open_for;
    const size_t calls_before = volume_.dedupe_calls().size();
    const std::vector<Execution> executions = Execute();
    // Each call asks when it is taken, before it reads and before it dedupes.
    EXPECT_THAT(volume_.dedupe_calls(), SizeIs(calls_before + open_for / 3)) << open_for;
    EXPECT_EQ(executions[0].moved, open_for >= 3);
    EXPECT_EQ(executions[1].moved, open_for >= 6);
    EXPECT_EQ(volume_.open_files(), 0);
  }
}

}  // namespace
}  // namespace onefold
