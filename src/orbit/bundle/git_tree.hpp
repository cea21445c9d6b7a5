// A tree of a git repository as files on disk, exactly as git stores it. Internal to bundle/.
#pragma once

#include "orbit/bundle/bundle.hpp"
#include "orbit/bundle/git.hpp"

namespace orbit::bundle {

// Writes the tree below `into`, which must be an empty directory: contents as stored (no line-ending conversion, no
// filters, no attributes), modes 0644 and 0755 whatever the umask, symbolic links last, so that no crafted tree can
// write through one. Submodules are an error that names them. Names, number and sizes are checked against the limits
// before anything is written.
Result<void> extract_tree(const Git& git, const GitCall& where, const std::string& tree, const fs::path& into,
                          const Limits& limits);

}  // namespace orbit::bundle
