#include "orbit/cli/follow.hpp"

#include <csignal>
#include <cstring>
#include <mutex>
#include <ostream>
#include <thread>

#include <unistd.h>

#include "orbit/cli/api.hpp"
#include "orbit/cli/logs.hpp"
#include "orbit/cli/run_ref.hpp"
#include "orbit/cli/views.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {
namespace {

// The handler may touch nothing but these.
char farewell_text[512];
volatile std::sig_atomic_t farewell_length = 0;
struct sigaction previous_action;

void detach(int) {
  // The answer of write is of no use here, but must be taken.
  if (::write(STDERR_FILENO, farewell_text, static_cast<std::size_t>(farewell_length)) < 0) ::_exit(130);
  ::_exit(130);
}

struct Follower {
  std::thread thread;
  Result<void> result;
};

const wire::AttemptObject* attempt_of(const wire::RunObject& run, std::int32_t number) {
  for (const wire::AttemptObject& attempt : run.attempts)
    if (attempt.number == number) return &attempt;
  return nullptr;
}

std::string state_line(const wire::AttemptObject& attempt) {
  std::string line = fmt::format("attempt {}: {}", attempt.number, json::name_of(attempt.state));
  if (is_final(attempt.state) && attempt.state != AttemptState::succeeded)
    line += ", " + describe_end(attempt);
  else if (!is_final(attempt.state) && !attempt.detail.empty())
    line += ", " + escape(attempt.detail);
  return line;
}

}  // namespace

DetachOnInterrupt::DetachOnInterrupt(const std::string& farewell) {
  const std::size_t length = std::min(farewell.size(), sizeof farewell_text);
  std::memcpy(farewell_text, farewell.data(), length);
  farewell_length = static_cast<std::sig_atomic_t>(length);
  struct sigaction action{};
  action.sa_handler = detach;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_action);
}

DetachOnInterrupt::~DetachOnInterrupt() {
  ::sigaction(SIGINT, &previous_action, nullptr);
}

Result<int> follow_attempt(Context& context, const std::string& run_id, std::int32_t number) {
  const DetachOnInterrupt guard(
      fmt::format("\norbit: detached, the run goes on. Watch it again: orbit run logs {} --follow\n", run_id));
  ORBIT_TRY_ASSIGN(const Connection connection, context.connection());
  const RunRef run{run_id, std::nullopt};

  std::mutex writing;  // both readers and the states share the terminal
  std::stop_source stop;
  std::atomic<int> reading{2};
  const auto start = [&](Follower& follower, const char* stream, std::ostream& to) {
    follower.thread = std::thread([&, stream] {
      const LogSink sink{[&](std::string_view bytes) {
                           const std::lock_guard lock(writing);
                           to.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
                           to.flush();
                           return to.good();
                         },
                         [&](const std::string& notice) {
                           const std::lock_guard lock(writing);
                           context.note(notice);
                         }};
      LogReader reader(connection, run.target({"attempts", std::to_string(number), "logs", stream}), 0, sink);
      follower.result = reader.follow(stop.get_token());
      --reading;
    });
  };
  Follower output, errors;
  start(output, "stdout", context.json() ? context.err : context.out);
  start(errors, "stderr", context.err);
  const auto finish = [&](bool at_once) {
    if (at_once) stop.request_stop();
    output.thread.join();
    errors.thread.join();
  };

  std::string last_line;
  const Backoff backoff;
  int failures = 0;
  std::int64_t waited_ms = 0;
  std::unique_ptr<Api> api;
  while (true) {
    Result<std::string> body = fail(ErrorCode::unavailable, "not asked");
    if (!api) {
      auto opened = Api::open(connection);
      if (opened)
        api = std::move(*opened);
      else
        body = fail(std::move(opened).error());
    }
    if (api) body = api->get(run.target());
    Result<wire::RunObject> now = body ? Api::decode<wire::RunObject>(*body) : fail(body.error());
    if (!now) {
      api.reset();
      const std::int64_t wait_ms = backoff.wait_ms(++failures);
      waited_ms += wait_ms;
      if (now.error().code != ErrorCode::unavailable || waited_ms > backoff.give_up_ms) {
        finish(true);
        return fail(std::move(now).error());
      }
      pause_for(wait_ms, {});
      continue;
    }
    failures = 0;
    waited_ms = 0;
    const wire::AttemptObject* attempt = attempt_of(*now, number);
    if (attempt == nullptr) {
      finish(true);
      return fail(ErrorCode::internal, fmt::format("the server no longer lists attempt {}", number), run_id);
    }
    const std::string line = state_line(*attempt);
    const bool over = is_final(attempt->state);
    if (over) {
      // Final means the logs are at their end; a reader that is cut off from it must not hold us for ever.
      for (int i = 0; i < 200 && reading > 0; ++i) pause_for(50, {});
      finish(reading > 0);
    }
    if (line != last_line) {
      const std::lock_guard lock(writing);
      context.note(line);
      last_line = line;
    }
    if (over) {
      for (const Follower* follower : {&output, &errors})
        if (!follower->result) context.err << error_text(follower->result.error(), context.terminal.colour_err);
      if (attempt->state != AttemptState::succeeded) context.note("why: orbit run why " + run_id);
      if (context.json()) context.print_json(*body);
      return attempt->state == AttemptState::succeeded ? 0 : 1;
    }
    pause_for(reading > 0 ? 500 : 100, {});
  }
}

}  // namespace orbit::cli
