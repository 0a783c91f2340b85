"""Random templates with everything that chat templates of models are made of: mostly sound, so that they render.

Expressions are made by type, because an expression of random types almost always fails. Some break the rules on purpose.
"""

from __future__ import annotations

import random

TEXTS = ["text", "'ab'", "' x y '", "'A,b,,c'", "''", "'hello wORLD-x (y)'", "'a\\nb\\n\\n  c'", "'Zoë 東京 😀'", "'1.5'", "'42'", "'<&>\"'", "'ß'", "'%s-%s'", "'{} {}'",
         "'<think>\\nhm\\n</think>\\n\\nyes'", "'a well-known  x-ray -- one_two--three, R&D &lt;b&gt; &eacute; <i>e-mail</i> <!-- c -->'", "'é\\u2028b\\r\\nc\\x85d ²½ﬁ'", "words[0]", "messages[0].content", "messages[1]['role']", "nested.z.name", "rows[0]['n']", "bos_token", "'xxabxx'", "'-7'", "\"it's\""]  # fmt: skip
NUMBERS = ["0", "1", "-2", "2.5", "7", "-7", "3", "10", "1e3", "0.1", "1_000", "1e16", "123456789.125", "-0.0", "numbers[0]", "rows[1].v", "nested.z.size", "true", "1e-5", "12345678901234567890", "2 ** 70"]  # fmt: skip
INTEGERS = ["0", "1", "2", "-1", "-2", "3", "5", "-7", "10", "words | length", "numbers[0]", "loop_index", "true"]
LISTS = ["words", "numbers", "rows", "messages", "[]", "[3, 1, 2]", "['x', 'Y', 'x']", "(1, 'a')", "(1,)", "range(4)", "range(5, 0, -2)", "nested.a", "[[1, 'p'], [2, 'q']]", "messages[1]['items']",
         "[none, 0, '', 'z']", "[1, 2.0, true]", "[[2], [1], [3]]"]  # fmt: skip
DICTS = ["nested", "{}", "{'b': 1, 'a': 'x'}", "rows[0]", "messages[0]", "{1: 'i', 'k': [1]}", "dict(a=1, b=none)", "nested.z", "rows[0].t", "{'a': {'b': {'c': 1}}}"]
ANY = ["tools", "none", "nowhere", "nested.nothing", "messages[0].x", "true", "false"]
CHARS = ["' '", "'x'", "'\\n'", "'ab'", "','", "'-'", "''", "'é'", "'</think>'", "none"]
TEXT_FILTERS = ["capitalize", "lower", "upper", "title", "trim", "trim('x')", "replace('a', 'b')", "replace('x', 'yy', 1)", "indent", "indent(2)", "indent(1, true)", "indent('> ', blank=true)", "string", "e",
                "safe", "truncate(5)", "truncate(4, true)", "truncate(3, end='!', leeway=0)", "center(9)", "default('d')", "d('d', true)", "reverse", "forceescape", "wordwrap", "wordwrap(4)", "wordwrap(3, false)", "wordwrap(5, true, '|')", "wordwrap(6, break_on_hyphens=false)", "urlencode", "striptags", "pprint"]  # fmt: skip
LIST_FILTERS = ["list", "sort", "sort(reverse=true)", "sort(case_sensitive=true)", "unique | list", "reverse | list", "map('string') | list", "map('upper') | list", "select | list", "select('string') | list", "reject('none') | list",
                "select('in', [1, 'a']) | list", "reject('eq', 1) | list", "map('default', 'q') | list", "batch(2) | list", "batch(3, '-') | list", "slice(2) | list", "slice(3, 'z') | list", "map('length') | list",
                "select('number') | map('int') | list", "select('gt', 1) | list", "map('tojson') | list", "map('trim') | list", "map('replace', 'a', 'b') | list", "reject('mapping') | list"]  # fmt: skip
ROW_FILTERS = ["map(attribute='n') | list", "map(attribute='t.u') | list", "map(attribute='t.u', default='-') | list", "selectattr('n', 'equalto', 'x') | list", "selectattr('t') | list", "rejectattr('t') | list",
               "rejectattr('n', 'in', ['x']) | list", "selectattr('t', 'defined') | map(attribute='v') | list", "groupby('n') | list", "sort(attribute='v') | list", "sort(attribute='n,v') | list", "sum(attribute='v')", "sum('v', 10)",
               "map('tojson') | join", "max(attribute='v')", "min(attribute='n')", "unique(attribute='n') | list", "map(attribute='n') | unique | join(', ')", "groupby('t.u', default='none') | list", "join('/', attribute='n')",
               "groupby('n') | map(attribute='list') | map('length') | list", "groupby('n') | map(attribute='grouper') | list", "selectattr('v', 'gt', 1) | first", "map('items') | map('list') | list", "sort(attribute='n', reverse=true) | map(attribute='v') | list"]  # fmt: skip
JSON = ["tojson", "tojson(indent=2)", "tojson(indent=none)", "tojson(ensure_ascii=true)", "tojson(sort_keys=true)", "tojson(separators=(',', ':'))", "tojson(indent=4, separators=(', ', ' = '))", "tojson(indent=0)", "tojson(true)"]
TESTS = ["boolean", "callable", "defined", "divisibleby(2)", "even", "false", "float", "in(words)", "in ['a', 1]", "integer", "iterable", "lower", "mapping", "none", "number", "odd", "sequence", "string", "true", "undefined", "upper",
         "eq(1)", "ne('ab')", "gt(1)", "le 2", "sameas none", "equalto 'x'", "divisibleby 3", "filter", "test", "escaped", "lessthan(3)", "!= 2", ">= 1"]  # fmt: skip
PLAIN_TESTS = ["defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "boolean", "true", "false", "integer", "float", "callable"]


class Fuzz:
    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.loops = 0
        self.names = 0

    def one(self, *choices: str) -> str:
        return self.pick.choice(choices)

    def often(self, share: float) -> bool:
        return self.pick.random() < share

    # Expressions, by type.

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.pick.choice(TEXTS)
        d = depth - 1
        t, i, c = (lambda: self.text(d)), (lambda: self.integer(d)), (lambda: self.pick.choice(CHARS))
        kinds = [
            lambda: f"({t()} + {t()})",
            lambda: f"({t()} ~ {self.value(d)})",
            lambda: f"({t()} * {i()})" if self.often(0.3) else t(),
            lambda: f"({t()} | {self.pick.choice(TEXT_FILTERS)})",
            lambda: f"({t()}).{self.one('strip', 'lstrip', 'rstrip')}({self.one('', c())})",
            lambda: f"({t()}).{self.one('upper', 'lower', 'title', 'capitalize', 'swapcase', 'casefold')}()",
            lambda: f"({t()}).replace({c()}, {c()}{self.one('', ', 1', ', -1', ', count=2')})",
            lambda: f"({t()}).{self.one('removeprefix', 'removesuffix')}({c()})",
            lambda: f"({t()}).{self.one('center', 'ljust', 'rjust')}({i()}{self.one('', ', chr', ', ' + repr('*'))})",
            lambda: f"({t()}).zfill({i()})",
            lambda: f"({t()}).{self.one('split', 'rsplit')}({self.split_arguments()})[{self.one('0', '-1', '1')}]",
            lambda: f"({t()}).{self.one('partition', 'rpartition')}({c()})[{self.one('0', '1', '2', '-1')}]",
            lambda: f"({t()}){self.slice(d)}",
            lambda: f"({t()})[{i()}]",
            lambda: f"({t()}).join({self.list(d)} | map('string'))",
            lambda: f"({self.list(d)} | join({self.one('', t())}))",
            lambda: f"({self.value(d)} | {self.pick.choice(JSON)})",
            lambda: f"({self.value(d)} | {self.one('string', 'string', 'pprint', 'urlencode')})",
            lambda: f"({self.dict(d)} | {self.one('xmlattr', 'xmlattr(false)', 'urlencode', 'pprint')})",
            lambda: f"({self.number(d)} | filesizeformat{self.one('', '(true)')})",
            lambda: self.percent(d),
            lambda: self.braces(d),
            lambda: f"({t()} if {self.condition(d)}{self.one('', ' else ' + t())})",
            lambda: f"({self.one(*ANY)} | default({t()}))",
            lambda: f"({t()}).expandtabs({i()})" if self.often(0.2) else t(),
            lambda: f"({self.text(d)} or {self.text(d)})",
        ]
        return self.pick.choice(kinds)()

    def split_arguments(self) -> str:
        return self.one("", "' '", "','", "'\\n'", "'</think>'", "none, 1", "' ', 1", "',', maxsplit=1", "sep=','", "'x', 0", "maxsplit=1")

    def slice(self, depth: int) -> str:
        part = lambda: self.one("", "", self.integer(min(depth, 1)), self.one("1", "-1", "2", "none"))  # noqa: E731
        return f"[{part()}:{part()}{self.one('', ':', ':' + self.one('-1', '2', '-2', '1'))}]"

    def percent(self, depth: int) -> str:
        spec = self.one("%s", "%d", "%5.1f", "%r", "%-6s|", "%05d", "%x", "%+d", "%e", "%g", "%i", "%%", "%.3s", "%6.2f%%", "% d", "%#x", "%o", "%c", "%X", "%.0f", "%a")
        value = self.number(depth) if spec[-1] not in "rs|a" else self.value(depth)
        if spec == "%%":
            return "('%%' | format)"
        if self.often(0.3):
            return f"('{spec}' | format({value}))"
        if self.often(0.3):
            return "('%(a)s=" + spec.replace("%", "%(b)", 1) + f"' % {{'a': {self.text(depth)}, 'b': {value}}})"
        return f"('{spec} %s' % ({value}, {self.value(depth)}))"

    def braces(self, depth: int) -> str:
        spec = self.one("", ":>8", ":<8", ":^8", ":*^9", "!r", "!s", ":.3")
        number = self.one(":d", ":5d", ":05d", ":,", ":.2f", ":+.1f", ":e", ":x", ":b", ":g", ":%", ":,.2f", ":#x", ":.3g", ":o", ":08.3f", ":<6", ":n", ":_", ": d", ":.1%", "")
        if self.often(0.5):
            value = self.integer(depth) if number[-1:] in "dxbo" and number else self.number(depth)
            return f"'{{{number}}}'.format({value})"
        return f"'{{0{spec}}}{{{{x}}}}{{k}}'.format({self.text(depth)}, k={self.value(depth)})"

    def integer(self, depth: int) -> str:
        if depth <= 0:
            return self.pick.choice(INTEGERS).replace("loop_index", self.one("loop.index", "loop.index0", "loop.length") if self.loops else "4")
        d = depth - 1
        kinds = [
            lambda: f"({self.integer(d)} {self.one('+', '-', '*', '//', '%')} {self.integer(d)})",
            lambda: f"({self.one(self.text(d), self.list(d), self.dict(d))} | {self.one('length', 'count')})",
            lambda: f"({self.text(d)}).{self.one('find', 'rfind', 'count', 'index', 'rindex')}({self.pick.choice(CHARS[:8])}{self.one('', '', ', 1', ', 1, -1', ', -3')})",
            lambda: f"({self.text(d)} | int{self.one('', '(7)', '(default=-1)', '(0, 16)')})",
            lambda: f"({self.number(d)} | int)",
            lambda: f"-{self.integer(d)}",
            lambda: f"({self.list(d)}).{self.one('count', 'index')}({self.value(d)})",
            lambda: f"({self.text(d)} | wordcount)",
            lambda: self.integer(0),
        ]
        return self.pick.choice(kinds)()

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.pick.choice(NUMBERS)
        d = depth - 1
        kinds = [
            lambda: f"({self.number(d)} {self.one('+', '-', '*', '/', '//', '%', '**')} {self.number(d)})",
            lambda: f"({self.number(d)} | round{self.one('', '(2)', '(1, ' + repr('floor') + ')', '(method=' + repr('ceil') + ')', '(-1)')})",
            lambda: f"({self.number(d)} | abs)",
            lambda: f"({self.one(self.text(d), self.number(d))} | float{self.one('', '(0.5)')})",
            lambda: f"([{self.number(d)}, {self.number(d)}] | {self.one('sum', 'max', 'min')})",
            lambda: f"+{self.number(d)}" if self.often(0.5) else f"-{self.number(d)}",
            lambda: self.integer(d),
            lambda: self.number(0),
        ]
        return self.pick.choice(kinds)()

    def list(self, depth: int) -> str:
        if depth <= 0:
            return self.pick.choice(LISTS)
        d = depth - 1
        kinds = [
            lambda: f"({self.list(d)} | {self.pick.choice(LIST_FILTERS)})",
            lambda: f"(rows | {self.pick.choice(ROW_FILTERS)})",
            lambda: f"({self.list(d)}{self.slice(d)})",
            lambda: f"({self.list(d)} + {self.list(d)})",
            lambda: f"({self.list(d)} * {self.integer(0)})" if self.often(0.3) else self.list(0),
            lambda: f"[{', '.join(self.value(d) for _ in range(self.pick.randrange(4)))}]",
            lambda: f"({', '.join(self.value(d) for _ in range(self.pick.randrange(2, 4)))})",
            lambda: f"({self.text(d)}).{self.one('split', 'rsplit')}({self.split_arguments()})",
            lambda: f"({self.text(d)}).{self.one('splitlines()', 'splitlines(true)', 'partition(' + repr(',') + ')')}",
            lambda: f"({self.dict(d)}).{self.one('items', 'keys', 'values')}() | list",
            lambda: f"({self.dict(d)} | {self.one('dictsort', 'items | list', 'dictsort(true)', 'dictsort(reverse=true)', 'list', 'dictsort(by=' + repr('value') + ')')})",
            lambda: f"({self.text(d)} | list)",
        ]
        return self.pick.choice(kinds)()

    def dict(self, depth: int) -> str:
        if depth <= 0:
            return self.pick.choice(DICTS)
        d = depth - 1
        kinds = [
            lambda: "{" + ", ".join(f"{self.one(self.text(0), self.integer(0))}: {self.value(d)}" for _ in range(self.pick.randrange(4))) + "}",
            lambda: f"dict({self.dict(d)}, z={self.value(d)})",
            lambda: f"dict({self.dict(d)}, **{{'y': {self.value(d)}}})",
            lambda: f"({self.dict(d)} if {self.condition(d)} else {self.dict(d)})",
            lambda: self.dict(0),
            lambda: f"dict([['k', {self.value(d)}], ('l', 2)])",
        ]
        return self.pick.choice(kinds)()

    def condition(self, depth: int) -> str:
        if depth <= 0:
            return f"{self.value(0)} is {self.one('', 'not ')}{self.pick.choice(PLAIN_TESTS)}"
        d = depth - 1
        compare = lambda: self.one("==", "!=", "<", "<=", ">", ">=")  # noqa: E731
        kinds = [
            lambda: f"({self.value(d)} is {self.one('', 'not ')}{self.pick.choice(PLAIN_TESTS)})",
            lambda: f"({self.one(self.number(d), self.integer(d), self.value(d))} is {self.one('', 'not ')}{self.pick.choice(TESTS)})",
            lambda: f"({self.number(d)} {compare()} {self.number(d)})",
            lambda: f"({self.number(d)} {compare()} {self.number(d)} {compare()} {self.integer(d)})",
            lambda: f"({self.text(d)} {compare()} {self.text(d)})",
            lambda: f"({self.list(d)} {self.one('==', '!=', '<')} {self.list(d)})",
            lambda: f"({self.value(d)} {self.one('==', '!=')} {self.value(d)})",
            lambda: f"({self.text(d)} {self.one('in', 'not in')} {self.one(self.text(d), self.list(d), self.dict(d))})",
            lambda: f"({self.value(d)} {self.one('in', 'not in')} {self.list(d)})",
            lambda: f"(not {self.condition(d)})",
            lambda: f"({self.condition(d)} {self.one('and', 'or')} {self.condition(d)})",
            lambda: f"({self.text(d)}).{self.one('startswith', 'endswith')}({self.one(self.text(0), '(' + self.text(0) + ', ' + self.text(0) + ')')}{self.one('', '', ', 1', ', 1, 3')})",
            lambda: f"({self.text(d)}).{self.one('isdigit', 'isalpha', 'isupper', 'islower', 'isspace', 'isalnum', 'istitle', 'isidentifier', 'isnumeric', 'isdecimal', 'isascii', 'isprintable')}()",
            lambda: self.value(d),
        ]
        return self.pick.choice(kinds)()

    def value(self, depth: int) -> str:
        d = depth - 1
        kinds = [self.text, self.text, self.number, self.integer, self.list, self.dict]
        if depth <= 0 or self.often(0.6):
            return self.pick.choice([*kinds, lambda _: self.pick.choice(ANY)])(depth)
        more = [
            lambda: f"({self.dict(d)}).get({self.one(self.text(0), self.integer(0))}{self.one('', ', ' + self.value(d))})",
            lambda: f"({self.dict(d)})[{self.one(self.text(0), repr('a'), repr('z'))}]",
            lambda: f"({self.dict(d)}).{self.one('a', 'b', 'z', 'items', 'name')}" if self.often(0.5) else f"({self.dict(d)}).a",
            lambda: f"({self.list(d)})[{self.integer(d)}]",
            lambda: f"({self.list(d)} | {self.one('first', 'last', 'max', 'min', 'sum')})",
            lambda: self.condition(d),
            lambda: f"({self.value(d)} if {self.condition(d)}{self.one('', ' else ' + self.value(d))})",
            lambda: f"({self.value(d)} {self.one('or', 'and')} {self.value(d)})",
            lambda: f"({self.value(d)} | default({self.value(d)}{self.one('', ', true')}))",
            lambda: f"({self.value(d)} | {self.one('attr(' + repr('a') + ')', 'first', 'list', 'length', 'items | list', 'int', 'float', 'tojson', 'string', 'upper', 'e')})",
        ]
        return self.pick.choice(more)()

    # Statements.

    def tag(self, content: str) -> str:
        return "{%" + self.one("", "", "-", "+") + " " + content + " " + self.one("", "", "-", "+") + "%}"

    def space(self) -> str:
        return self.one("", "", " ", "\n", "  \n  ", "x", "\n\n", "  ", " y\n  ", "\t", "é\n", "\r\n")

    def output(self, depth: int) -> str:
        return "{{" + self.one("", "", "-") + " " + self.value(depth) + " " + self.one("", "", "-") + "}}"

    def body(self, depth: int) -> str:
        return "".join(self.space() + self.statement(depth) for _ in range(self.pick.randrange(1, 3))) + self.space()

    def name(self) -> str:
        self.names += 1
        return f"v{self.names}"

    def statement(self, depth: int) -> str:
        if depth <= 0 or self.often(0.25):
            return self.output(2)
        return self.pick.choice([self.branch, self.loop, self.loop, self.macro, self.call, self.set, self.set_block, self.names_in_loop, self.with_block, self.filter_block, self.generation, self.recursion, self.comment])(depth - 1)

    def branch(self, d: int) -> str:
        parts = self.tag(f"if {self.condition(2)}") + self.body(d)
        if self.often(0.4):
            parts += self.tag(f"elif {self.condition(2)}") + self.body(d)
        if self.often(0.5):
            parts += self.tag("else") + self.body(d)
        return parts + self.tag("endif")

    def loop_uses(self) -> str:
        use = self.one("loop.index", "loop.index0", "loop.revindex", "loop.revindex0", "loop.first", "loop.last", "loop.length", "loop.depth", "loop.depth0", "loop.previtem", "loop.nextitem", "loop.previtem is defined",
                       "loop.nextitem is undefined", "loop.cycle('o', 'e')", "loop.changed(x)", "loop.nextitem | default('-')", "loop.previtem.role", "loop")  # fmt: skip
        return "" if self.often(0.3) else "{{ " + use.replace("loop.previtem.role", "(loop.previtem or {}).role").replace("loop }", "loop }") + " }}" if use != "loop" else ""

    def loop(self, d: int) -> str:
        pairs = self.often(0.2)
        source = self.one(f"{self.dict(1)}.items()", f"{self.dict(1)} | items", f"{self.dict(1)} | dictsort", "rows | groupby('n')", "[[1, 'p'], (2, 'q'), 'xy']") if pairs else self.one(self.list(2), self.list(1), self.text(1), self.dict(1))
        chosen = self.one("", "", "", f" if {self.one('x', 'k' if pairs else 'x', self.condition(1))}")
        self.loops += 1
        inside = "{{ k }}:{{ x }}" if pairs else self.one("{{ x }}", "{{ x }}", "")
        stop = ""
        if self.often(0.2):
            stop = self.tag(f"if {self.one('loop.index > 2', 'x == 1', 'loop.last', self.condition(1))}") + self.tag(self.one("break", "continue")) + self.tag("endif")
        made = self.tag(f"for {self.one('k, x', '(k, x)') if pairs else 'x'} in {source}{chosen}") + self.loop_uses() + stop + inside + (self.body(d) if self.often(0.6) else self.space()) + self.loop_uses()
        self.loops -= 1
        if self.often(0.3):
            made += self.tag("else") + self.body(d)
        return made + self.tag("endfor")

    def names_in_loop(self, d: int) -> str:
        name, member = self.name(), self.one("a", "found", "text")
        self.loops += 1
        inner = self.tag(f"set {name}.{member} = {self.one(f'{name}.{member} ~ x', f'{name}.{member} + 1', self.value(1), 'loop.index', f'[{name}.{member}, x]')}") + "{{ " + f"{name}.{member}" + " }}"
        self.loops -= 1
        begin = self.tag(f"set {name} = namespace({self.one(f'{member}=0', f'{member}={self.value(1)}', f'{{{member!r}: 1}}', f'{{{member!r}: 1}}, b=2')})")
        return begin + self.tag(f"for x in {self.list(1)}") + inner + self.space() + self.tag("endfor") + "{{ " + f"{name}.{member}" + " }}{{ " + f"{name}.nothing is defined" + " }}"

    def recursion(self, d: int) -> str:
        return self.tag(f"for x in {self.one('[1, [2, [3, 4]], 5]', '[[], [[1]], 2]', 'nested.a')} recursive") + "{{ loop.depth }}" + self.space() + "{{ loop(x) if x is iterable and x is not string and x is not mapping else x }}" + self.loop_uses() + self.space() + self.tag("endfor")

    def macro(self, d: int) -> str:
        name = self.name()
        loops, self.loops = self.loops, 0
        parameters = self.one("a", "a, b='x'", "a, b=none, c=[1]", f"a, b={self.value(1)}", "a, b=a", "")
        body = self.one("{{ a }}{{ b }}", "{{ a | default('no') }}|{{ c }}", "{{ varargs }}{{ kwargs }}", "{{ a }}{{ b is defined }}{{ varargs | length }}", "{{ kwargs | items | list }}", "{{ caller() if caller else 'alone' }}") + (self.body(d) if self.often(0.5) else "")
        if self.often(0.15):
            body += self.tag("if a is number and a > 0 and a < 4") + "{{ " + f"{name}(a - 1)" + " }}" + self.tag("endif")
        if self.often(0.15):
            inner = self.name()
            body += self.tag(f"macro {inner}(q, r=1)") + "<{{ q }}{{ r }}{{ a }}>" + self.tag("endmacro") + "{{ " + f"{inner}({self.value(0)}, r=2)" + " }}"
        made = self.tag(f"macro {name}({parameters})") + body + self.space() + self.tag("endmacro")
        self.loops = loops
        calls = [self.one(f"{name}({self.value(1)})", f"{name}(1, b=2)", f"{name}(1, 2)", f"{name}()", f"{name}(b=3, a='k')", f"{name}(1, 2, 3, 4)", f"{name}(1, z=2)", f"{name}(*[1, 2])", f"{name}(1, **{{'b': 'kw'}})", f"{name}.name", f"{name}.arguments", f"({name}(1) | upper)", f"({name}('k') ~ 'z') | trim", f"({name}(2)).strip() | length") for _ in range(self.pick.randrange(1, 3))]
        return made + "".join("{{ " + call + " }}" for call in calls)

    def call(self, d: int) -> str:
        name = self.name()
        arguments, given = self.one(("", ""), ("(u)", "a"), ("(u, w='d')", "1, w=2"), ("(u, w=7)", "'p'"))  # type: ignore[arg-type]
        made = self.tag(f"macro {name}(a=1)") + f"<{{{{ caller({given}) }}}}{self.one('', '{{ caller(' + given + ') | upper }}', '{{ a }}')}>" + self.tag("endmacro")
        return made + self.tag(f"call{arguments} {name}({self.one('', self.value(1))})") + self.one("", "{{ u }}{{ w }}") + self.body(d) + self.tag("endcall")

    def set(self, d: int) -> str:
        name = self.one(self.name(), "x", "words", "text")
        if self.often(0.2):
            return self.tag(f"set {name}, y = {self.value(1)}, {self.value(1)}") + "{{ " + name + " }}{{ y }}"
        return self.tag(f"set {name} = {self.value(2)}") + "{{ " + self.one(name, f"{name} is defined", f"{name} | string | length") + " }}"

    def set_block(self, d: int) -> str:
        name = self.name()
        return self.tag(f"set {name}{self.one('', ' | upper', ' | trim | length', ' | replace(' + repr('a') + ', ' + repr('b') + ')')}") + self.body(d) + self.tag("endset") + "[{{ " + self.one(name, f"{name} | length", f"{name}.split()", f"{name} is string") + " }}]"

    def with_block(self, d: int) -> str:
        name = self.name()
        return self.tag(f"with {name} = {self.value(1)}, y = {self.one(name, self.value(1))}") + "{{ " + name + " }}{{ y }}" + self.body(d) + self.tag("endwith") + "{{ " + name + " is defined }}"

    def filter_block(self, d: int) -> str:
        return self.tag(f"filter {self.one('upper', 'trim', 'title', 'indent(2)', 'replace(' + repr('a') + ', ' + repr('b') + ')', 'upper | trim', 'length')}") + self.body(d) + self.tag("endfilter")

    def generation(self, d: int) -> str:
        return self.tag("generation") + self.body(d) + self.tag("endgeneration")

    def comment(self, d: int) -> str:
        return self.one("{# a #}", "{#- a -#}", "{#-\n a\n#}", "{# a -#}", "{#+ a +#}", "{% raw %}{{ x }}{% endraw %}", "{%- raw %} {% if %}\n{% endraw -%}", "{{ strftime_now('%Y') | length }}", "{{ raise_exception('no') if false }}")

    def one_of(self, choices: list[str]) -> str:
        return self.pick.choice(choices)

    def template(self) -> str:
        if self.often(0.4):
            return self.output(self.pick.randrange(1, 4))
        return self.body(self.pick.randrange(1, 4))


def fuzzed_template(seed: int) -> str:
    return Fuzz(seed).template()
