// The families of commands; each adds itself to the tree.
#pragma once

#include "orbit/cli/args.hpp"

namespace orbit::cli {

void add_account_commands(Command& root);    // login, doctor
void add_submit_command(Command& root);      // submit
void add_run_commands(Command& root);        // run ls|show|stop|rerun|resume|attempts
void add_run_report_commands(Command& run);  // run why|diff|verify|metrics|spec|events
void add_run_output_commands(Command& run);  // run logs, run artifacts ls|get
void add_queue_command(Command& root);       // queue
void add_bundle_commands(Command& root);     // bundle build|check|run
void add_project_commands(Command& root);    // project …, experiment …
void add_catalog_commands(Command& root);    // template ls|show|check
void add_token_commands(Command& root);      // token create|ls|revoke
void add_event_commands(Command& root);      // event ls

// The options that several commands share.
struct RunArgs {
  std::string run;
  std::optional<std::string> project;
  std::optional<std::int64_t> attempt;
};
void take_run(Command& command, RunArgs& args);      // RUN and --project
void take_attempt(Command& command, RunArgs& args);  // --attempt

}  // namespace orbit::cli
