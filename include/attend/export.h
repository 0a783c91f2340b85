// What libattend shows to programs: everything in include/attend, and nothing else.
#pragma once

#define ATTEND_API __attribute__((visibility("default")))
