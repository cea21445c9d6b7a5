// What is frozen of a run, in words: the same for `submit --dry-run`, `run spec` and, where it shows it, `run show`.
#pragma once

#include <string>
#include <vector>

#include "orbit/cli/render.hpp"
#include "orbit/wire/api.hpp"

namespace orbit::cli {

// Where and how it is executed: resources, variables, files that are looked for; absent demands are left out.
void add_values(Fields& fields, const TemplateValues& values);
// Everything but the list of files.
void add_frozen(Fields& fields, const wire::RunSpecObject& spec, const CodeRevision& code);
void add_inputs(Fields& fields, const wire::RunSpecObject& spec);  // inputs, outputs, command
void add_data(Fields& fields, const std::vector<DataFingerprint>& data);

// As it would be typed: words are quoted where a shell needs it.
std::string command_line(const std::vector<std::string>& words);

}  // namespace orbit::cli
