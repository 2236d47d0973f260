// Bounds of the network side of a coordinator, each with its reason.

#ifndef ONEFOLD_COMMON_NETWORK_LIMITS_H_
#define ONEFOLD_COMMON_NETWORK_LIMITS_H_

#include <cstddef>

#include "absl/time/time.h"

namespace onefold {

// A worker sends pings so that NAT keeps its connection; home routers forget after about 5 minutes,
// some after 60 s. Workers may ping twice as often as they should.
inline constexpr absl::Duration kKeepaliveInterval = absl::Seconds(50);
inline constexpr absl::Duration kKeepaliveIntervalMin = absl::Seconds(20);
// No answer to a ping for so long: the other side is gone.
inline constexpr absl::Duration kKeepaliveTimeout = absl::Seconds(20);

// Connections are made anew after that, as soon as no call is under way: so that a host whose
// certificate was renewed comes with the new one.
inline constexpr absl::Duration kConnectionAgeMax = absl::Hours(12);

// Calls of one connection at a time: a worker has a few streams for each of its volumes.
inline constexpr int kStreamsPerConnectionMax = 64;

// Buffers of all connections together; above it, reading stops until there is room.
inline constexpr size_t kServerBufferBytesMax = size_t{96} << 20;
// Calls that are worked on at a time, each by a thread; further ones are told to come again.
inline constexpr int kServerThreadsMax = 1536;

// How long a caller that was told RESOURCE_EXHAUSTED should wait, in the trailing metadata that
// gRPC's own retries obey too.
inline constexpr char kRetryDelayKey[] = "grpc-retry-pushback-ms";
inline constexpr absl::Duration kExhaustedRetryDelay = absl::Seconds(30);

}  // namespace onefold

#endif  // ONEFOLD_COMMON_NETWORK_LIMITS_H_
