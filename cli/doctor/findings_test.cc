#include "cli/doctor/findings.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace onefold {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kGib = int64_t{1} << 30;

class FindingsTest : public ::testing::Test {
 protected:
  FindingsTest() {
    checks_.kernel_release = "6.12.1";
    checks_.clock_synchronised = true;
    checks_.state_directory = "/var/lib/onefold";
    checks_.state_free_bytes = 100 * kGib;
    VolumeChecks volume;
    volume.path = "/srv/data";
    volume.checksum = "crc32c";
    volume.quotas = false;
    volume.size_bytes = 100 * kGib;
    volume.data_free_bytes = kGib;
    volume.metadata_free_bytes = kGib;
    volume.unallocated_bytes = 10 * kGib;
    checks_.volumes.push_back(volume);
  }

  // The finding of this kind; one that is empty if there is none.
  Finding Find(const std::string& kind) {
    for (const Finding& finding : Examine(checks_, now_)) {
      if (finding.kind == kind) return finding;
    }
    return {};
  }
  int Code() { return DoctorExitCode(Examine(checks_, now_)); }
  VolumeChecks& volume() { return checks_.volumes[0]; }

  const absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  DoctorChecks checks_;
};

TEST_F(FindingsTest, NothingIsInTheWay) {
  for (const Finding& finding : Examine(checks_, now_)) {
    EXPECT_EQ(finding.severity, Severity::kOk) << finding.kind;
    EXPECT_THAT(finding.command, IsEmpty());
  }
  EXPECT_EQ(Code(), 0);
}

TEST_F(FindingsTest, WhatIsWrongComesWithWhatMendsIt) {
  volume().quotas = true;
  volume().autodefrag = true;
  volume().read_only = true;
  checks_.clock_synchronised = false;
  checks_.other_dedupers = {"bees (process 12)"};
  checks_.state_free_bytes = kGib;
  checks_.privileges = absl::PermissionDeniedError("not root");
  EXPECT_EQ(Find("quotas").command, "btrfs quota disable /srv/data");
  EXPECT_THAT(Find("autodefrag").command, HasSubstr("remount,noautodefrag"));
  EXPECT_THAT(Find("filesystem").command, HasSubstr("remount,rw"));
  EXPECT_EQ(Find("clock").command, "timedatectl set-ntp true");
  EXPECT_THAT(Find("other-deduper").command, HasSubstr("systemctl disable"));
  EXPECT_EQ(Find("state-space").severity, Severity::kWarning);
  EXPECT_EQ(Find("privileges").command, "sudo onefold doctor");
}

TEST_F(FindingsTest, ExitCodeIsThatOfTheWorst) {
  checks_.clock_synchronised = false;
  EXPECT_EQ(Code(), 0);
  volume().quotas = true;
  EXPECT_EQ(Code(), 2);
  volume().inspected = absl::UnimplementedError("not on btrfs");
  EXPECT_EQ(Code(), 1);
  EXPECT_THAT(Find("quotas").text, IsEmpty());
}

// With room that is not allocated, a full block group is nothing to worry about.
TEST_F(FindingsTest, MetadataIsShortOnlyIfNothingIsLeft) {
  volume().metadata_free_bytes = 1 << 20;
  EXPECT_EQ(Code(), 0);
  volume().unallocated_bytes = 0;
  EXPECT_EQ(Find("metadata-space").severity, Severity::kError);
  EXPECT_THAT(Find("metadata-space").command, HasSubstr("btrfs balance start -dusage=25"));
  volume().size_bytes = 40 << 20;  // 1 MiB of it is enough
  EXPECT_EQ(Code(), 0);
  volume().unallocated_bytes.reset();
  EXPECT_EQ(Code(), 0);
}

TEST_F(FindingsTest, CertificatesEnd) {
  checks_.certificates = {{"/h.pem", "host", absl::OkStatus(), now_ + absl::Hours(24 * 20)}};
  EXPECT_EQ(Find("certificate").severity, Severity::kOk);
  checks_.certificates[0].whose = "person";
  EXPECT_EQ(Find("certificate").severity, Severity::kWarning);
  checks_.certificates[0].expires = now_ - absl::Hours(1);
  EXPECT_EQ(Find("certificate").severity, Severity::kError);
  EXPECT_THAT(Find("certificate").command, HasSubstr("fleet user add"));
}

TEST_F(FindingsTest, CoordinatorMayBeSilentOrNotKnowUs) {
  checks_.coordinator = {"nas1:7171", absl::UnavailableError("refused")};
  EXPECT_THAT(Find("coordinator").command, HasSubstr("systemctl status"));
  checks_.coordinator->answered = absl::UnauthenticatedError("who?");
  EXPECT_THAT(Find("coordinator").command, HasSubstr("fleet user add"));
}

// The commands are there to be pasted.
TEST_F(FindingsTest, PathsInCommandsAreQuoted) {
  EXPECT_EQ(ShellWord("/srv/a-b_c"), "/srv/a-b_c");
  EXPECT_EQ(ShellWord("/a b"), "'/a b'");
  EXPECT_EQ(ShellWord("/a'$(x)"), "'/a'\\''$(x)'");
  EXPECT_EQ(ShellWord("/\x1b[2J;"), "$'/\\x1b\\x5b2J\\x3b'");
  volume().path = "/x\n; rm";
  volume().quotas = true;
  EXPECT_THAT(Find("quotas").command, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace onefold
