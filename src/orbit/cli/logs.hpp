// Reading a log by offset: whatever happens to the connection, each byte is written once and in order, and the end of
// the stream is told from a cut of the line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "orbit/base/result.hpp"
#include "orbit/cli/api.hpp"

namespace orbit::cli {

// Growing, bounded waits. They start anew whenever bytes arrived.
struct Backoff {
  std::int64_t first_ms = 200;
  std::int64_t longest_ms = 5'000;
  std::int64_t give_up_ms = 600'000;  // of waiting in a row without a byte: then the error is returned

  std::int64_t wait_ms(int failures) const;  // failures counts from 1
};
// False when stopped meanwhile.
bool pause_for(std::int64_t ms, std::stop_token stop);

struct LogSink {
  std::function<bool(std::string_view)> write;     // false: nobody reads any more, stop
  std::function<void(const std::string&)> notice;  // "connection lost …": for people
};

class LogReader {
 public:
  // `target` as from RunRef::target({"attempts", "latest", "logs", "stdout"}).
  LogReader(Connection connection, std::string target, std::int64_t offset, LogSink sink, Backoff backoff = {});

  // What there is now. Returns whether the stream is at its end for good.
  Result<bool> read(std::stop_token stop = {});
  // Until the end of the stream, or `stop`. Fails only with what trying again cannot mend, or after
  // Backoff::give_up_ms.
  Result<void> follow(std::stop_token stop = {});
  std::int64_t offset() const { return offset_; }

 private:
  enum class Outcome { ended, cut, stopped };
  Result<Outcome> follow_once(std::stop_token stop);
  Result<bool> read_once(std::stop_token stop);
  Result<Api*> api();
  bool deliver(std::string_view bytes);
  // Waits after a failure; the error when it is time to give up.
  Result<bool> retry(Error error, std::stop_token stop);

  Connection connection_;
  std::string target_;
  std::int64_t offset_;
  LogSink sink_;
  Backoff backoff_;
  std::unique_ptr<Api> api_;
  std::int64_t gap_at_ = -1;  // where the server last left bytes out
  bool progressed_ = false;
  int failures_ = 0;
  std::int64_t waited_ms_ = 0;
};

Result<std::int64_t> log_size(Api& api, const std::string& target);
// Offset at which the last `lines` lines begin.
Result<std::int64_t> offset_of_last_lines(Api& api, const std::string& target, std::int64_t size_bytes,
                                          std::int64_t lines);

}  // namespace orbit::cli
