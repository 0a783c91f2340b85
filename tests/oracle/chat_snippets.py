"""Small templates of our own that have, one by one, what templates of models are made of."""

from __future__ import annotations

import random
from typing import Any

VARIABLES: dict[str, Any] = {
    "tools": None,
    "messages": [{"role": "user", "content": " hi "}, {"role": "assistant", "content": "ho", "items": [1, 2]}],
    "words": ["b", "A", "c", "a", "B"],
    "numbers": [3, 1, 2.5, True],
    "nested": {"z": {"name": "Zoë 'x'", "size": 2}, "a": [1, None, "é<b>", {"k": 1.0}], "empty": {}, "none": []},
    "text": "Zoë's  東京 😀\n",
    "rows": [{"n": "x", "v": 2, "t": {"u": "q"}}, {"n": "y", "v": 1, "t": {"u": "p"}}, {"n": "x", "v": 3}],
}

SNIPPETS = [
    "{% set ns = namespace(n=0, seen=false) %}{% for m in messages %}{% set ns.n = ns.n + loop.index %}{% endfor %}{{ ns.n }}{{ ns.seen }}",
    "{% macro f(a, b='x', c=none) %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{{ f(1) }}{{ f(1, c=2) }}{{ f('q', 'r', 's') }}{{ f() }}",
    "{% macro list(x) %}{% for i in x recursive %}{{ i if i is number else loop(i) }},{% endfor %}{% endmacro %}{{ list([1, [2, [3]], 4]) }}",
    "{% macro box() %}<{{ caller('y') }}>{% endmacro %}{% call(x) box() %}in {{ x }}{% endcall %}",
    "{% macro all() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ all(1, 2, a=3) }}{{ all(*[1, 2], **{'b': 4}) }}",
    "{% macro deep(x) %}{{ x }}{% if x > 0 %}{{ deep(x - 1) }}{% endif %}{% endmacro %}{{ deep(5) }}",
    "{% for k, v in nested.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for (k, v) in nested | dictsort %}{{ loop.index }}{{ k }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for k, v in nested | items %}{{ k }}{% endfor %}{% for k in nested %}{{ k }}{% endfor %}",
    "{% for w in words if w != 'c' %}{{ loop.index0 }}{{ w }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.length }}{{ loop.first }}{% else %}none{% endfor %}",
    "{% for w in [] %}x{% else %}nothing{% endfor %}{% for w in nowhere %}x{% else %}undefined{% endfor %}",
    "{% for w in words %}{{ loop.previtem is defined }}{{ loop.nextitem | default('-') }}{{ loop.cycle('o', 'e') }}{% if loop.changed(w | lower) %}!{% endif %}{% endfor %}",
    "{% for w in words %}{% if loop.index == 2 %}{% continue %}{% endif %}{% if w == 'a' %}{% break %}{% endif %}{{ w }}{% endfor %}",
    "{% for i in range(3) %}{% for j in range(i, 5, 2) %}{{ i }}{{ j }}{{ loop.depth }} {% endfor %}{% endfor %}",
    "{% set x %}a {{ words[0] }}{% endset %}{{ x }}{% set y | upper | trim %} b {% endset %}{{ y }}{{ x is string }}",
    "{% filter upper | replace('A', '4') %}banana{% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}",
    "{% set a, b = 1, (2, 3) %}{{ a }}{{ b }}{{ b[1] }}{% set c = 1, %}{{ c }}",
    "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 7 %}{% endif %}{{ x }}",
    "{{ words[1:3] }}{{ words[::-1] }}{{ words[-2:] }}{{ text[:3] }}{{ text[::-2] }}{{ words[10:] }}{{ (1, 2, 3)[1:] }}{{ words[-1] }}{{ text[1] }}",
    "{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 1e20 }} {{ 1.0 }} {{ 0.1 + 0.2 }} {{ 1_000 }} {{ 7.5 // 2 }} {{ 6 / 3 }}",
    "{{ 'ab' * 3 }}{{ [1] * 2 }}{{ [1] + [2] }}{{ (1,) + (2,) }}{{ 1 ~ 'a' ~ none ~ 2.5 ~ true }}{{ nowhere ~ 'x' }}",
    "{{ 1 < 2 < 3 }}{{ 1 < 3 < 2 }}{{ 'a' < 'b' }}{{ [1, 2] < [1, 3] }}{{ 1 == 1.0 }}{{ true == 1 }}{{ 'a' == none }}{{ not 1 in [1] }}{{ 2 not in [1] }}",
    "{{ 'x' if false }}{{ 'x' if nowhere else 'y' }}{{ raise_exception('no') if false else 'ok' }}{{ true or raise_exception('no') }}{{ false and raise_exception('no') }}",
    "{{ tools is defined }}{{ tools is none }}{{ tools }}{{ nowhere is defined }}{{ nowhere }}{{ nowhere is none }}{{ messages[0].x is undefined }}",
    "{{ nested | tojson }}\n{{ nested | tojson(indent=2) }}\n{{ nested | tojson(separators=(',', ':'), sort_keys=true) }}{{ text | tojson(ensure_ascii=true) }}",
    "{{ nested }}{{ (1,) }}{{ () }}{{ ['a\\'b', \"c\\\"d'\", 'e\\n\\t\\\\', '\\x7f\\xa0'] }}{{ {'a': none, 1: true} }}",
    "{{ 'a\\u00e9\\x41\\101\\n\\q' }}{{ 'joined ' 'strings' }}{{ \"it's\" }}",
    "{{ messages | map(attribute='role') | join(', ') }}{{ words | map('upper') | list }}{{ rows | map(attribute='t.u', default='-') | join }}",
    "{{ rows | selectattr('n', 'equalto', 'x') | map(attribute='v') | sum }}{{ rows | rejectattr('t') | list | length }}{{ rows | selectattr('t', 'defined') | list | count }}",
    "{{ numbers | select('gt', 1) | list }}{{ words | reject('in', ['a', 'b']) | join }}{{ [0, 1, ''] | select | list }}{{ numbers | reject('odd') | first }}",
    "{{ words | sort }}{{ words | sort(case_sensitive=true, reverse=true) }}{{ rows | sort(attribute='n,v') | map(attribute='v') | list if false }}{{ rows | sort(attribute='v') | map(attribute='v') | list }}",
    "{{ words | unique | list }}{{ words | first }}{{ words | last }}{{ [] | first }}{{ words | reverse | join }}{{ 'abc' | reverse }}{{ [] | last is defined }}",
    "{{ numbers | min }}{{ numbers | max }}{{ words | max }}{{ numbers | sum }}{{ rows | sum(attribute='v') }}{{ rows | max(attribute='v') }}",
    "{{ [1, 2, 3, 4, 5] | batch(2, 'x') | list }}{{ [1, 2, 3, 4, 5] | slice(2) | list }}{% for k, g in rows | groupby('n') %}{{ k }}{{ g | length }}{% endfor %}",
    "{{ nowhere | default('d') }}{{ none | default('d') }}{{ '' | default('d', true) }}{{ nowhere | d }}{{ '42' | int + 1 }}{{ 'x' | int(7) }}{{ '3.9' | int }}{{ '2.5' | float }}",
    "{{ 3.14159 | round(2) }}{{ 2.5 | round }}{{ 7 | round }}{{ 2.1 | round(method='ceil') }}{{ -3 | abs }}{{ 5 | string ~ 'a' }}{{ ' x ' | trim }}{{ 'xxax' | trim('x') }}",
    "{{ 'a\nb\n\nc' | indent }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent('> ', blank=true) }}|{{ 'hello wORLD-x' | title }}{{ 'hELLO' | capitalize }}",
    "{{ '%s is %d (%.2f) %r %5s|%-5s|%%' | format('x', 3, 2.5, 'q', 'r', 's') }}{{ '%s-%s' % (1, 2) }}{{ '%(a)s' % {'a': 1} }}{{ '%x' % 255 }}",
    "{{ '{} {1}'.format(1, 2) if false }}{{ '{} {}'.format(1, 'b') }}{{ '{0:>5}|{0:<5}|{0:^5}|{x:.2f}|{y:05d}|{{}}'.format('a', x=1.5, y=42) }}{{ '{0[a]} {0.b}'.format({'a': 1}) if false }}",
    "{{ 'a b  c'.split() }}{{ 'a,b,,c'.split(',') }}{{ 'a,b,c'.split(',', 1) }}{{ 'a,b,c'.rsplit(',', 1) }}{{ ' a b '.split(none, 1) }}{{ 'a</t>b'.split('</t>')[-1] }}",
    "{{ '  x '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ '\\n\\nx\\n'.lstrip('\\n') }}|{{ 'x..'.rstrip('.') }}|{{ 'abc'.replace('b', 'XX') }}{{ 'aaa'.replace('a', 'b', 2) }}{{ 'ab'.replace('', '-') }}",
    "{{ 'abc'.startswith('ab') }}{{ 'abc'.startswith(('x', 'a')) }}{{ 'abc'.endswith('c') }}{{ 'abc'.find('c') }}{{ 'abc'.find('x') }}{{ 'ababa'.count('a') }}{{ '東京x'.index('x') }}",
    "{{ 'aB'.upper() }}{{ 'aB'.lower() }}{{ 'hello world'.title() }}{{ 'hELLO'.capitalize() }}{{ 'aB'.swapcase() }}{{ '12'.isdigit() }}{{ 'ab'.isalpha() }}{{ 'AB'.isupper() }}{{ ' '.isspace() }}",
    "{{ ', '.join(words) }}{{ 'a-b-c'.partition('-') }}{{ 'a-b-c'.rpartition('-') }}{{ 'a\nb'.splitlines() }}{{ '7'.zfill(3) }}{{ 'ab'.center(5) }}|{{ 'ab'.ljust(4) }}|{{ 'ab'.rjust(4, '.') }}",
    "{{ 'xabx'.removeprefix('x') }}{{ 'xabx'.removesuffix('x') }}{{ nested.get('q', 'd') }}{{ nested.get('q') }}{{ nested.keys() | list }}{{ nested['a'].index(none) }}{{ [1, 1].count(1) }}",
    "{{ messages[1]['items'] }}{% for k, v in messages[0].items() %}{{ k }}{% endfor %}{{ nested.z.name }}{{ nested['z']['size'] }}{{ nested.a.3.k }}",
    "{{ 1 is number }}{{ true is number }}{{ true is integer }}{{ 1.5 is float }}{{ 'a' is string }}{{ [] is iterable }}{{ {} is mapping }}{{ 'a' is sequence }}{{ {} is sequence }}{{ none is iterable }}",
    "{{ true is true }}{{ 1 is true }}{{ false is false }}{{ true is boolean }}{{ 2 is even }}{{ 3 is odd }}{{ 9 is divisibleby(3) }}{{ 1 is sameas 1 }}{{ 'a' is in 'abc' }}{{ 1 is not in [2] }}{{ 3 is gt 2 }}{{ 'A' is upper }}",
    "{{ nowhere is iterable }}{{ nowhere | length }}{{ nowhere | list }}{{ 'x' in nowhere }}{{ nowhere == nowhere2 }}{{ range is callable }}{{ words is not string and words is iterable }}",
    "a\n  {% if true %}\nb\n  {%- endif %}\nc  {{- 'd' -}}  \n e {# note #}\nf {#- cut -#} g\n  {%+ if true %}h{% endif +%}\ni\n",
    "{% raw %}{{ no }} {% if %}{% endraw %}|\n  {%- raw -%}  x  {%- endraw -%}  y",
    "{{ {'a': {'b': 1}}['a']['b'] }}{{ '}}' }}{{ \"%}\" }}{{ {} }}",
    "{% generation %}{% set hidden = 1 %}said{% endgeneration %}{{ hidden is defined }}{% block title %}T{{ words[0] }}{% endblock %}",
    "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner('|') %}{{ j() }}x{{ j() }}y{{ dict(a=1, b='c') }}",
    "{{ -1 | abs }}{{ - 2 ** 2 }}{{ (1, 'a')[1] }}{{ 2 * 3 + 4 * -1 }}{{ 10 - 3 - 2 }}{{ not true or true }}{{ 1 if 0 else 2 if 0 else 3 }}{{ 'a' ~ 1 + 2 }}",
    "{{ text | length }}{{ text | upper }}{{ text | wordcount }}{{ '<&>\"' | e }}{{ 'a b c d e f g' | truncate(5, true, '…', 0) }}{{ none | string }}{{ 'straße' | upper }}",
    "{{ '<' + '>' | safe + '&' }}{{ '<' ~ '>' | safe ~ '&' }}{{ ('<' | safe + '<') | string + '\"' }}{{ '<' | e + '<' }}",
    "{{ true[1:] }}|{{ 'x' if words | items }}|{{ words | map('nothing') is defined }}|{{ [1, 'a'] | map('upper') | first }}",
    "{{ rows | selectattr('t.u') | first }}{% for x in words if x != stop %}{{ x }}{% set stop = 'c' %}{% endfor %}",
    "{% for w in words %}{% continue %}{% else %}none ended{% endfor %}{% for w in words %}{% break %}{% else %}none ended{% endfor %}",
    "{% with a = 1, b = a %}{{ a }}[{{ b }}]{% endwith %}{% macro f(x, y=1) %}{{ varargs }}{% endmacro %}{{ f.name }}{{ f.arguments }}{{ f.catch_varargs }}",
    "{% for g in rows | groupby('n') %}{{ g.grouper }}{{ g.list | length }}{% endfor %}{{ rows | groupby('t.u', default='-') | map('first') | list }}",
    "{{ rows | sort(attribute='n,v') | map(attribute='v') | list }}{{ rows | sort(attribute='n,v', reverse=true) | map(attribute='v') | list }}",
    "{{ 2 ** 70 }} {{ 12345678901234567890 + 1 }} {{ -2 ** 65 // 7 }} {{ 2 ** 65 % -7 }} {{ 1e20 | int }} {{ '12345678901234567890' | int }} {{ 0x1F + 0b11 + 0o7 }} {{ '1f' | int(0, 16) }}",
    "{{ -0.0 }} {{ -(1.5 - 1.5) }} {{ 7.5 // -2 }} {{ -7.5 % 2 }} {{ -1.0 // 2 ** 70 }} {{ 0.0 // -3 }} {{ -0.4 | round(method='ceil') }} {{ -0.0 | abs }}",
    "{{ '{:,} {:_} {:x} {:#x} {:e} {:%} {:+d} {:05d} {:.3} {:.3} {:>{w}}'.format(1234567, 1234567, 255, 255, 12345.678, 0.25, 5, -42, 100.0, 12.0, 'r', w=4) }}",
    "{{ '%c%c %#x %o %E %G %.0f % d %+.1f %i' % ('a', 98, 255, 8, 12345.678, 0.00001, 2.5, 3, 4.25, 7.9) }}{{ '{:05}|{:<6}|{:^7}'.format('ab', true, 1.5) }}",
    "{{ 'a\tb'.expandtabs(4) }}|{{ 'Hello World'.istitle() }}{{ 'a_1'.isidentifier() }}{{ 'a\n'.isprintable() }}{{ '{a}'.format_map({'a': 1}) }}{{ 'ßa'.capitalize() }}{{ 'straße ﬁ'.upper() }}{{ 'ǆx'.title() }}",
    "{{ 'upper' is filter }}{{ 'odd' is test }}{{ 'nothing' is filter }}{{ nowhere is callable }}{{ ('a' | safe) is escaped }}{{ [3, 1] | last }}{{ words | reverse | first }}",
    "{{ 'The quick-brown fox -- jumps over--the lazy, well-known dog_house  end' | wordwrap(12) }}|{{ 'aaaaaaaaaa b-c-d-efg' | wordwrap(4, false) }}|{{ 'a b\n\nc d' | wordwrap(1, true, '/') }}",
    "{{ 'a b/ü&c' | urlencode }}{{ {'q': 'a b/c', 'n': 1, 'z': none} | urlencode }}{{ [('a', 'b c'), (1, true)] | urlencode }}{{ none | urlencode }}",
    "{{ '<p>a  &lt;b&gt;\n<!-- x > y -->&copy &amp;amp; &#233;&#xe9; &#150; &AMP AT&T <i' | striptags }}{{ '&eacut &frac12; &notx &apos;' | striptags }}{{ 1 | striptags }}",
    "<a{{ {'class': 'x y', 'id': none, 'n': 1, 'q': '<\"' | safe, 'e': '<>'} | xmlattr }}>{{ {} | xmlattr }}{{ {'a': 1} | xmlattr(false) }}{{ {'a': nowhere} | xmlattr }}",
    "{{ 0 | filesizeformat }} {{ 1 | filesizeformat }} {{ 999 | filesizeformat }} {{ 1000 | filesizeformat }} {{ '1e6' | filesizeformat }} {{ 1234567890123 | filesizeformat(true) }} {{ 1e30 | filesizeformat }}",
    "{{ {'b': range(30) | list, 'a': 'x' * 90, 1: {'long ' ~ text: ['word ' * 20, none, (1,)]}} | pprint }}\n{{ 'word ' * 30 | pprint }}{{ ('w ' * 60) | pprint }}\n{{ ('line\n' * 3) | pprint }}{{ words | pprint }}",
    "{{ 'ab'.center(7, '*') }}{{ 'ßﬁΣ'.casefold() }}{{ 'a\u2028b\x85c\r\nd'.splitlines() }}{{ 'a\r\n\nb' | indent(2) }}{{ '' | indent(2, true) }}|{{ '%a' % 'é東😀' }}{{ '{!a}{!r}'.format('é', 'é') }}{{ [{}] | max }}{{ 12345678901234567890 | round(-1) }} {{ 25 | round(-1) }} {{ +-0.0 }}",
    "{{ words | map('upper') | last }}", "{{ words | map('nothing') | list }}", "{{ tools[1:] }}", "{{ 2 ** 100000 }}", "{{ '%d' % 'x' }}", "{{ '{:>5}'.format(none) }}", "{{ 'a' | wordwrap(0) }}", "{{ {'a b': 1} | xmlattr }}", "{{ 'ab'.center(9, 'xy') }}", "{{ 'x' | filesizeformat }}",
    "{{ raise_exception('refused ' ~ 1) }}", "{{ nowhere.x }}", "{{ nowhere + 1 }}", "{{ 'a' + 1 }}", "{{ none + 'a' }}", "{{ words.append(1) }}",
    "{{ words.nothing() }}", "{{ [1] | tojson(indent=none) }}{{ nowhere | tojson }}", "{% for x in none %}{% endfor %}", "{{ 1 / 0 }}", "{{ 'a' in 3 }}",
    "{% set words.x = 1 %}", "{{ words | nofilter }}", "{{ 1 is notest }}", "{% for a, b in [[1]] %}{% endfor %}", "{{ range(1000000) }}", "{{ 1 < 'a' }}",
    "{{ words | map('upper') | tojson }}", "{{ f(1) }}", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{{ none | length }}", "{% do words %}", "{% if %}{% endif %}",
    "{{ 'x' }", "{% for x in words %}", "{{ (1 }}", "{% endif %}", "{{ 1 2 }}", "{% break %}", "{{ '\\u12' }}", "{{ 'open }}", "{# open", "{% include 'x' %}",
]  # fmt: skip

ATOMS = ["text", "words", "numbers", "nested", "rows", "messages", "tools", "nowhere", "1", "-2", "2.5", "'ab'", "' x y '", "'A,b'", "''", "[]", "{}", "(1, 'a')",
         "true", "none", "[3, 1, 2]", "['x', 'Y', 'x']", "{'b': 1, 'a': 'x'}", "range(4)", "messages[0]", "rows[0].t", "nested.a", "'1.5'"]  # fmt: skip
FILTERS = ["abs", "capitalize", "count", "default('d')", "default(1, true)", "dictsort", "e", "first", "float", "indent(1)", "int", "items", "join", "join('-')", "last", "length",
           "list", "lower", "map('string')", "map(attribute='n')", "max", "min", "reject('none')", "replace('a', 'b')", "reverse", "round", "select('string')", "selectattr('v')",
           "sort", "string", "sum", "title", "tojson", "tojson(indent=1)", "trim", "unique", "upper", "batch(2)", "slice(2)", "wordcount", "safe", "format(1)"]  # fmt: skip
TESTS = ["boolean", "callable", "defined", "divisibleby(2)", "even", "false", "float", "in(words)", "integer", "iterable", "lower", "mapping", "none", "number", "odd",
         "sequence", "string", "true", "undefined", "upper", "eq(1)", "ne('ab')", "gt(1)"]  # fmt: skip
METHODS = [".strip()", ".split()", ".split(',')", ".upper()", ".title()", ".items() | list", ".get('a')", ".keys() | list", ".values() | list", ".startswith('a')", ".count('a')", "[0]", "[-1]",
           "[1:]", "[::-1]", "['a']", ".a", ".replace('a', 'bb')", ".find('b')", ".index('x')", ".splitlines()", ".join(['p', 'q'])", ".isdigit()", ".capitalize()", "[:2]", ".rstrip(' x')"]  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "**"]


def random_expression(pick: random.Random, depth: int = 3) -> str:
    if depth == 0:
        return pick.choice(ATOMS)
    inner = random_expression(pick, depth - 1)
    kind = pick.randrange(7)
    if kind == 0:
        return f"({inner} {pick.choice(OPERATORS)} {random_expression(pick, depth - 1)})"
    if kind == 1:
        return f"({inner} | {pick.choice(FILTERS)})"
    if kind == 2:
        return f"({inner} is {pick.choice(['', 'not '])}{pick.choice(TESTS)})"
    if kind in (3, 4):
        return f"({inner}){pick.choice(METHODS)}"
    if kind == 5:
        return f"({inner} if {random_expression(pick, depth - 1)} else {random_expression(pick, depth - 1)})"
    return inner


def random_template(pick: random.Random) -> str:
    inner = random_expression(pick)
    spaces = [pick.choice(["", " ", "\n", "  \n  ", "x"]) for _ in range(4)]
    signs = [pick.choice(["", "-", "+"]) for _ in range(4)]
    if pick.random() < 0.5:
        return f"{{{{ {inner} }}}}"
    if pick.random() < 0.5:
        end = signs[1]
        return f"{spaces[0]}{{%{signs[0]} if {inner} {end}%}}{spaces[1]}yes{spaces[2]}{{%{signs[2]} else {signs[3]}%}}no{spaces[3]}{{% endif %}}"
    return f"{spaces[0]}{{%{signs[0]} for x in {inner} {signs[1]}%}}{spaces[1]}{{{{ x }}}}{spaces[2]}{{%{signs[2]} endfor {signs[3]}%}}{spaces[3]}|"
