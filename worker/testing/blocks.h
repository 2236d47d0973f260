// What blocks of a fake volume hold: one number a block. Equal numbers are equal bytes; 0 is the
// block of zeros.

#ifndef ONEFOLD_WORKER_TESTING_BLOCKS_H_
#define ONEFOLD_WORKER_TESTING_BLOCKS_H_

#include <cstdint>
#include <vector>

namespace onefold {

class Blocks {
 public:
  Blocks() = default;
  // One block a letter, "." is the block of zeros: "ab.b".
  Blocks(const char* letters) {  // NOLINT(google-explicit-constructor): tests read better so
    for (; *letters != '\0'; ++letters) {
      numbers_.push_back(*letters == '.' ? 0 : static_cast<unsigned char>(*letters));
    }
  }

  // `count` blocks that differ from one another and from those of other `series` and all letters.
  static Blocks Series(uint32_t series, int64_t count, int64_t from = 0) {
    Blocks blocks;
    for (int64_t i = 0; i < count; ++i) {
      blocks.numbers_.push_back((uint64_t{series} + 1) << 32 | static_cast<uint64_t>(from + i));
    }
    return blocks;
  }
  static Blocks Zeros(int64_t count) { return Repeated(0, count); }
  static Blocks Repeated(uint64_t number, int64_t count) {
    Blocks blocks;
    blocks.numbers_.assign(static_cast<size_t>(count), number);
    return blocks;
  }

  int64_t count() const { return static_cast<int64_t>(numbers_.size()); }
  uint64_t operator[](int64_t at) const { return numbers_[static_cast<size_t>(at)]; }
  void Set(int64_t at, uint64_t number) { numbers_[static_cast<size_t>(at)] = number; }

  Blocks Cut(int64_t from, int64_t count) const {
    Blocks blocks;
    blocks.numbers_.assign(numbers_.begin() + from, numbers_.begin() + from + count);
    return blocks;
  }
  friend Blocks operator+(Blocks a, const Blocks& b) {
    a.numbers_.insert(a.numbers_.end(), b.numbers_.begin(), b.numbers_.end());
    return a;
  }
  friend Blocks operator*(int times, const Blocks& blocks) {
    Blocks all;
    for (int i = 0; i < times; ++i) all = all + blocks;
    return all;
  }
  friend bool operator==(const Blocks&, const Blocks&) = default;

 private:
  std::vector<uint64_t> numbers_;
};

}  // namespace onefold

#endif  // ONEFOLD_WORKER_TESTING_BLOCKS_H_
