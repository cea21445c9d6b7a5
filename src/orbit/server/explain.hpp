// Why a run is where it is, in words, with the evidence (S6, R7); and the queue.
#pragma once

#include <vector>

#include "orbit/base/result.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/ports/log_store.hpp"
#include "orbit/ports/store.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::server {

Result<wire::WhyObject> explain(const RunView& run, StoreReader& reader, LogStore& logs, control::Writer& writer);

// What waits for a place, in the order in which it will get one.
Result<std::vector<wire::QueueItem>> queue_items(StoreReader& reader, control::Writer& writer);

}  // namespace orbit::server
