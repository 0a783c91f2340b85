"""Sets of code points as tables of ranges in C++."""


def ranges(code_points):
    found = []
    for c in sorted(code_points):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def table(name, code_points):
    items = [f"{{0x{first:X}, 0x{last:X}}}" for first, last in ranges(code_points)]
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > 110:
            lines.append(line)
            line = "   "
        line += f" {item},"
    lines.append(line)
    return f"inline constexpr Range {name}[] = {{\n" + "\n".join(lines) + "\n};\n"
