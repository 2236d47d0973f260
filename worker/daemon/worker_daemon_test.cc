#include "worker/daemon/worker_daemon.h"

#include "common/clock.h"
#include "common/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/testing/fake_facts.h"
#include "worker/testing/fake_link.h"
#include "worker/testing/fake_paths.h"
#include "worker/testing/memory_journal.h"

namespace onefold {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kMounts[] =
    "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "23 20 0:40 / /srv rw - btrfs /dev/sdb rw\n"
    "24 20 0:41 / /data rw - btrfs /dev/sdc rw\n";

// Ends when it is asked to, or at once.
class QuickRunner final : public Runner {
 public:
  explicit QuickRunner(bool at_once) : at_once_(at_once) {}
  End Run(const v1::RunOrder&, RunTicket& ticket, VolumeReport& report) override {
    while (!at_once_ && !ticket.stop().requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    report.counters.bytes_freed = 7;
    return {};
  }

 private:
  const bool at_once_;
};

class WorkerDaemonTest : public ::testing::Test {
 protected:
  void Start(bool runs_end = true) {
    daemon_ = std::make_unique<WorkerDaemon>(
        WorkerDaemon::Options{.worker_id = "w",
                              .version = "1.2",
                              .display_name = "nas",
                              .labels = {{"site", "a"}},
                              .allow = {"/srv/share", "/typo"}},
        WorkerDaemon::Parts{
            .clock = SystemClock(),
            .links = links_,
            .journal = journal_,
            .paths = paths_,
            .facts = facts_,
            .read_mounts = [] { return MountTable::Parse(kMounts); },
            .make_runner =
                [runs_end](ConnectVolume) { return std::make_unique<QuickRunner>(runs_end); },
            .say =
                [this](bool, const std::string& text) {
                  MutexLock lock(&mutex_);
                  said_.push_back(text);
                },
            .chance = [] { return 0.5; }});
    ASSERT_THAT(daemon_->Start(), IsOk());
  }
  static v1::RunOrder Order(const std::string& id, uint8_t volume) {
    v1::RunOrder order;
    order.set_run_id(id);
    order.set_volume_uuid(ToBytes(FakePathSource::Uuid(volume)));
    order.set_action(v1::RunOrder::ACTION_RUN);
    return order;
  }
  static bool Tells(const v1::SyncRequest& request, const std::string& id, v1::RunState state) {
    for (const v1::RunStatus& run : request.host().runs()) {
      if (run.run_id() == id && run.state() == state) return true;
    }
    return false;
  }
  std::vector<std::string> said() {
    MutexLock lock(&mutex_);
    return said_;
  }

  const MountTable mounts_ = MountTable::Parse(kMounts);
  FakePathSource paths_{mounts_};
  FakeFactsSource facts_;
  MemoryRunJournal journal_;
  FakeFleetLinks links_;
  Mutex mutex_;
  std::vector<std::string> said_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<WorkerDaemon> daemon_;
};

TEST_F(WorkerDaemonTest, TellsWhatItHas) {
  Start();
  const v1::SyncRequest request = links_.home.Await([](const auto&) { return true; });
  EXPECT_EQ(request.worker_id(), "w");
  EXPECT_EQ(request.worker_version(), "1.2");
  EXPECT_EQ(request.host().display_name(), "nas");
  EXPECT_EQ(request.host().labels().at("site"), "a");
  ASSERT_EQ(request.host().volumes_size(), 2);
  EXPECT_THAT(request.host().volumes(0).allowed_roots(), ElementsAre("/srv/share"));
  EXPECT_EQ(request.volumes_size(), 0);
  EXPECT_TRUE(daemon_->Stop(absl::Seconds(5)));
  EXPECT_THAT(said(), ElementsAre(HasSubstr("/typo")));
}

TEST_F(WorkerDaemonTest, AnOrderIsCarriedOutAndItsEndIsToldSoon) {
  links_.home.Answer({Order("r", 40)});
  Start();
  const v1::SyncRequest request = links_.home.Await(
      [](const auto& request) { return Tells(request, "r", v1::RUN_STATE_COMPLETED); });
  EXPECT_EQ(request.host().runs(0).figures().bytes_freed(), 7);
}

// Whoever looks after the fleet should see at once that the work was put down.
TEST_F(WorkerDaemonTest, StoppedItSaysSo) {
  links_.home.Answer({Order("r", 40)});
  Start(/*runs_end=*/false);
  links_.home.Await([](const auto& request) { return Tells(request, "r", v1::RUN_STATE_RUNNING); });
  EXPECT_TRUE(daemon_->Stop(absl::Seconds(20)));
  links_.home.Await([](const auto& request) { return Tells(request, "r", v1::RUN_STATE_WAITING); });
}

TEST_F(WorkerDaemonTest, EachCoordinatorHearsOfItsVolumes) {
  FakeFleetLink& other = links_.others["b:7171"];
  links_.home.Assign(FakePathSource::Uuid(41), "b:7171");
  other.Answer({Order("r", 41)});
  Start();
  const v1::SyncRequest at_home = links_.home.Await([](const auto&) { return true; });
  ASSERT_EQ(at_home.host().volumes_size(), 1);
  EXPECT_EQ(at_home.host().volumes(0).mount_paths(0), "/srv");
  const v1::SyncRequest elsewhere =
      other.Await([](const auto& request) { return Tells(request, "r", v1::RUN_STATE_COMPLETED); });
  ASSERT_EQ(elsewhere.host().volumes_size(), 1);
  EXPECT_EQ(elsewhere.host().volumes(0).mount_paths(0), "/data");
}

}  // namespace
}  // namespace onefold
