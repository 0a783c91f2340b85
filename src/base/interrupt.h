// Ctrl-C and SIGTERM as a question: long work asks interrupted() between steps, saves and stops.
#pragma once

namespace attend {

// From now on the first Ctrl-C only sets the flag; a second one ends the process at once.
void catch_interrupts();
bool interrupted();

}  // namespace attend
