// Writes a big batch into a database as table files. See rocks_store.h for why.

#ifndef ONEFOLD_COORDINATOR_ROCKS_INGEST_H_
#define ONEFOLD_COORDINATOR_ROCKS_INGEST_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <string>

#include "absl/status/status.h"
#include "coordinator/row_batch.h"

namespace onefold::index {

// Ingests `batch` into `db`, which was opened with `options` in `directory`. The files are made as
// `stem`-<n>.sst on the filesystem of the database, and moved. `parallel`: each by a thread of its
// own. Atomic and durable.
absl::Status IngestBatch(rocksdb::DB& db, const rocksdb::Options& options, const RowBatch& batch,
                         const std::string& directory, const std::string& stem, bool parallel);

}  // namespace onefold::index

#endif  // ONEFOLD_COORDINATOR_ROCKS_INGEST_H_
