// The Python that a workload will find, and what it finds there. Asked by starting the interpreter as the workload
// would be started; nothing but metadata is read and no package is imported.
#pragma once

#include <boost/describe.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/result.hpp"

namespace orbit::runner {

struct PythonFacts {
  std::string program;
  std::string version;
  std::map<std::string, std::string> packages;  // of those asked for; missing ones are not in it
};
// Asks the interpreter that the PATH of `environment` finds, by distribution metadata, within time_limit_ms.
// `not_found`: there is none.
Result<PythonFacts> python_facts(const std::map<std::string, std::string>& environment,
                                 const std::vector<std::string>& packages, int time_limit_ms);

struct ForeignModule {
  std::string name;
  std::string origin;  // the file or folder it would be imported from
};
BOOST_DESCRIBE_STRUCT(ForeignModule, (), (name, origin))
struct StagedCode {
  std::string distribution;            // as the code's pyproject.toml or setup.cfg names it; empty: neither does
  bool installed = false;              // the interpreter has a distribution of that name
  std::vector<ForeignModule> foreign;  // modules of the staged code that would come from elsewhere
};
BOOST_DESCRIBE_STRUCT(StagedCode, (), (distribution, installed, foreign))
// Whether an entry that imports the staged code gets the staged code (R11). The danger is a package that is frozen and
// also installed on the machine, most of all in editable form: then an older checkout would run under the name of the
// frozen one. Only code that declares itself a distribution is looked at, since any other module may bear the name of
// an installed one on purpose. `code`: the folder that is the working directory of the entry; `entry`: relative to it,
// empty if there is none.
Result<StagedCode> staged_code(const std::map<std::string, std::string>& environment, const std::filesystem::path& code,
                               const std::string& entry, int time_limit_ms);

}  // namespace orbit::runner
