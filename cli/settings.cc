#include "cli/settings.h"

namespace onefold {
namespace {

void Append(std::vector<Setting>& settings, std::vector<Setting> more) {
  settings.insert(settings.end(), more.begin(), more.end());
}

}  // namespace

std::vector<Setting> LogSettings() {
  return {
      {.key = "log_level",
       .default_value = "info",
       .help = "what is worth a line",
       .parameter = "LEVEL",
       .choices = "debug|info|warning|error"},
      {.key = "log_format",
       .default_value = "auto",
       .help = "text for people, JSON lines, or auto: text, with priorities for journald",
       .parameter = "FORMAT",
       .choices = "auto|text|json"},
  };
}

std::vector<Setting> CoordinatorSettings() {
  std::vector<Setting> settings = {
      {.key = "listen",
       .type = SettingType::kList,
       .default_value = "0.0.0.0:7171",
       .help = "where to listen: IP:PORT, [IPV6]:PORT or unix:/PATH (only for its owner)",
       .parameter = "ADDRESS",
       .check = CheckListenAddress},
      {.key = "public_address",
       .help = "HOST:PORT at which workers reach this coordinator; goes into join tokens and the "
               "certificate",
       .parameter = "ADDRESS",
       .check = CheckAddressOrEmpty},
      {.key = "state_directory",
       .default_value = "/var/lib/onefold-coordinator",
       .help = "where index and state are kept",
       .parameter = "DIR",
       .check = CheckAbsolutePath},
      {.key = "insecure",
       .type = SettingType::kBool,
       .default_value = "false",
       .help = "speak without TLS, also beyond this machine: anybody can then do anything (on Unix "
               "sockets "
               "and loopback addresses there is never TLS)"},
      {.key = "reflection",
       .type = SettingType::kBool,
       .default_value = "true",
       .help = "describe the services to clients that ask"},
      {.key = "shards",
       .type = SettingType::kList,
       .help = "the addresses of all coordinators among which the volumes are divided, this one "
               "included; the same list everywhere",
       .parameter = "ADDRESS",
       .check = CheckAddress},
      {.key = "shard_index",
       .type = SettingType::kInteger,
       .default_value = "0",
       .help = "which of the shards this one is, from 0",
       .parameter = "N",
       .maximum = kSettingItemsMax - 1},
      {.key = "volume_quota_extents",
       .type = SettingType::kInteger,
       .default_value = "200000000",
       .help = "extents that one volume may have in the index (80 bytes each)",
       .parameter = "N",
       .minimum = 1},
      {.key = "memory_mib",
       .type = SettingType::kInteger,
       .default_value = "320",
       .help =
           "what caches, uploads and plans may take together, about; the process needs some 100 "
           "MiB beside it",
       .parameter = "N",
       .minimum = 64,
       .maximum = 1 << 20},
      {.key = "free_space_mib",
       .type = SettingType::kInteger,
       .default_value = "256",
       .help = "take nothing into the index while less is free on its disk",
       .parameter = "N",
       .maximum = 1 << 30},
      {.key = "runs_at_once",
       .type = SettingType::kInteger,
       .default_value = "16",
       .help = "hosts that work at the same time",
       .parameter = "N",
       .minimum = 1,
       .maximum = 100'000},
  };
  Append(settings, LogSettings());
  return settings;
}

std::vector<Setting> AllSettings() {
  std::vector<Setting> settings = CoordinatorSettings();
  return settings;
}

}  // namespace onefold
