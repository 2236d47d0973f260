#include "cli/settings.h"

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace onefold {
namespace {

void Append(std::vector<Setting>& settings, std::vector<Setting> more) {
  settings.insert(settings.end(), more.begin(), more.end());
}

Setting RunsAtOnce() {
  return {.key = "runs_at_once",
          .type = SettingType::kInteger,
          .default_value = "2",
          .help = "volumes that are worked on at the same time",
          .parameter = "N",
          .minimum = 1,
          .maximum = 64};
}

// It becomes a quoted text of YAML.
absl::Status CheckUnquoted(absl::string_view value) {
  for (const char c : value) {
    if (c == '"' || c == '\\' || c < ' ') {
      return absl::InvalidArgumentError("has a quotation mark, a backslash or a control character");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWebListen(absl::string_view value) {
  if (value == "off" || (!absl::StartsWith(value, "unix:") && CheckListenAddress(value).ok())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("is neither IP:PORT nor off");
}

absl::Status CheckWebAddress(absl::string_view value) {
  absl::string_view rest = value;
  if (value.empty() ||
      ((absl::ConsumePrefix(&rest, "https://") || absl::ConsumePrefix(&rest, "http://")) &&
       !rest.empty() && CheckUnquoted(rest).ok())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("does not begin with https:// or http://");
}

// Of whoever serves the web page.
std::vector<Setting> WebSettings() {
  return {
      {.key = "web_listen",
       .default_value = "127.0.0.1:7180",
       .help = "where the web page is served: IP:PORT, without TLS on loopback, with it elsewhere; "
               "off",
       .parameter = "ADDRESS",
       .check = CheckWebListen},
      {.key = "web_address",
       .help = "what people type to reach the web page (https://nas1.example:7180); its name is "
               "accepted beside addresses and this machine's own",
       .parameter = "URL",
       .check = CheckWebAddress},
      {.key = "web_certificate",
       .help = "PEM file with key, certificate and chain that browsers are shown; without it, a "
               "certificate of the fleet's authority",
       .parameter = "FILE",
       .check = CheckAbsolutePathOrEmpty},
      {.key = "web_loopback_role",
       .default_value = "none",
       .help = "what everybody on this machine may do on a web page on loopback without signing in",
       .parameter = "ROLE",
       .choices = "none|viewer|operator|admin"},
      {.key = "metrics_for",
       .default_value = "loopback",
       .help = "who may read /metrics of the web page, without signing in",
       .parameter = "WHO",
       .choices = "nobody|loopback|everybody"},
      {.key = "textfile",
       .help = "a file for node_exporter's textfile collector "
               "(/var/lib/prometheus/node-exporter/onefold.prom), written once a minute",
       .parameter = "FILE",
       .check = CheckAbsolutePathOrEmpty},
  };
}

// Of a worker, be it alone or beside its coordinator.
std::vector<Setting> HostSettings() {
  return {
      {.key = "name",
       .help = "what people call this host; without it, its host name",
       .parameter = "NAME"},
      {.key = "labels",
       .type = SettingType::kMap,
       .help = "for policies that select hosts by label",
       .parameter = "NAME=VALUE"},
      {.key = "allow",
       .type = SettingType::kList,
       .help = "what may be touched on this host; whatever a coordinator orders, nothing outside "
               "of it is",
       .parameter = "PATH",
       .check = CheckAbsolutePath},
      {.key = "threads",
       .type = SettingType::kInteger,
       .default_value = "0",
       .help = "threads of a run at most; 0: by the number of cores",
       .parameter = "N",
       .maximum = 256},
  };
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
      {.key = "socket",
       .help = "a further Unix socket, where this machine's administrator is looked for; `onefold "
               "fleet` "
               "expects /run/onefold/coordinator.sock",
       .parameter = "PATH",
       .check = CheckAbsolutePathOrEmpty},
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
      {.key = "lease",
       .type = SettingType::kDuration,
       .default_value = "5m",
       .help = "how long a host works on without hearing from here, and how long its volumes wait "
               "for it then; 10s to 1h",
       .parameter = "TIME"},
      {.key = "runs_at_once",
       .type = SettingType::kInteger,
       .default_value = "16",
       .help = "hosts that work at the same time",
       .parameter = "N",
       .minimum = 1,
       .maximum = 100'000},
  };
  Append(settings, WebSettings());
  Append(settings, LogSettings());
  return settings;
}

std::vector<Setting> WorkerSettings() {
  std::vector<Setting> settings = {
      {.key = "coordinator",
       .help = "HOST:PORT or unix:/PATH of the coordinator. As a variable it is "
               "ONEFOLD_WORKER_COORDINATOR; ONEFOLD_COORDINATOR, which is for people's commands, "
               "counts only where nothing else says it",
       .parameter = "ADDRESS",
       .check = CheckAddressOrEmpty,
       .variable = "ONEFOLD_WORKER_COORDINATOR",
       .last_variable = "ONEFOLD_COORDINATOR"},
      {.key = "state_directory",
       .default_value = "/var/lib/onefold-worker",
       .help = "where key, certificate and what is under way are kept",
       .parameter = "DIR",
       .check = CheckAbsolutePath},
  };
  Append(settings, HostSettings());
  Append(settings, {RunsAtOnce(),
                    {.key = "insecure",
                     .type = SettingType::kBool,
                     .default_value = "false",
                     .help = "speak without TLS, also beyond this machine: anybody in between can "
                             "then order what `allow` allows"}});
  Append(settings, LogSettings());
  return settings;
}

std::vector<Setting> StandaloneSettings() {
  std::vector<Setting> settings = HostSettings();
  Append(
      settings,
      {RunsAtOnce(),
       {.key = "schedule",
        .default_value = "@daily",
        .help = "when all volumes are deduped: a cron expression, @daily, @weekly…; empty: only "
                "when somebody says so",
        .parameter = "CRON",
        .check = CheckUnquoted},
       {.key = "window",
        .help = "when work may go on (\"22:00-06:00\"); what is not done by its end goes on in "
                "the next",
        .parameter = "HH:MM-HH:MM",
        .check = CheckUnquoted},
       {.key = "policy",
        .help = "a file of policies, for more than a schedule and a window can say; used instead "
                "of them",
        .parameter = "FILE"},
       {.key = "state_directory",
        .default_value = "/var/lib/onefold-standalone",
        .help = "where index and state are kept",
        .parameter = "DIR",
        .check = CheckAbsolutePath},
       {.key = "listen",
        .type = SettingType::kList,
        .default_value = "unix:/run/onefold/coordinator.sock",
        .help = "where `onefold run` and others reach it; may be empty",
        .parameter = "ADDRESS",
        .check = CheckListenAddress}});
  Append(settings, WebSettings());
  Append(settings, LogSettings());
  return settings;
}

std::vector<Setting> AllSettings() {
  std::vector<Setting> settings = CoordinatorSettings();
  Append(settings, WorkerSettings());
  Append(settings, StandaloneSettings());
  return settings;
}

}  // namespace onefold
