// Ctrl-C and SIGTERM as a flag: long work polls interrupted() between steps, saves and stops.
#pragma once

#include <csignal>
#include <initializer_list>

namespace attend {

// From now on the first of these signals only sets the flag; a second one ends the process at once.
void catch_interrupts(std::initializer_list<int> signals = {SIGINT, SIGTERM});
bool interrupted();
// The same, and clears the flag: the interrupted work has stopped, and the process continues.
bool take_interrupt();

}  // namespace attend
