// Ctrl-C and SIGTERM as a question: long work asks interrupted() between steps, saves and stops.
#pragma once

#include <csignal>
#include <initializer_list>

namespace attend {

// From now on the first of these signals only sets the flag; a second one ends the process at once.
void catch_interrupts(std::initializer_list<int> signals = {SIGINT, SIGTERM});
bool interrupted();
// The same, and takes the flag back: what was interrupted has stopped, and the process goes on.
bool take_interrupt();

}  // namespace attend
