"""Documentation as generators of sites read it: Sphinx, MyST, MkDocs, Docusaurus, GitHub."""

from __future__ import annotations

import pytest

from shared.contracts.errors import DocumentError
from shared.documents.html import read_html
from shared.documents.markdown import read_markdown
from shared.documents.parsed_document import ParsedDocument
from shared.documents.registry import read
from shared.documents.restructuredtext import read_rst
from tests.support.table import table

RST = b"""
Widgets
=======

:Author: Jane Doe
:Date: 2024-05-06
:orphan:

.. currentmodule:: widgets

See :pep:`8`, `no link <https://example.org/none>`, :func:`~widgets.frame.run`, :ref:`the guide <guide>`, :class:`Frame`
and
`a page <https://example.org/page>`_; |undefined|, ``literal *text*`` [1]_ **now**.

.. _guide:

Use
---

.. warning:: Keep away from children.

   It burns.

.. versionadded:: 2.1
   Also for adults.

.. code-block:: python
   :linenos:

   run(1)

   run(2)

Like this::

    $ widget --now

1. First.
2. Second:

   * inner one
     wrapped
   * inner two

.. list-table::
   :header-rows: 1

   * - Name
     - Meaning
   * - ``size``
     - How | large

==== =====
a    b
==== =====
1    2
==== =====

term
  What it means.

-v, --verbose  Say more.

.. py:data:: LIMIT

   The limit.

   Default: ``5``

.. function:: run(times, *, fast=False)

   Run it.

   :param times: how often
   :returns: nothing

.. autofunction:: widgets.stop

.. unknown-thing:: argument
   :option: x

   Still text.

.. toctree::

   other
   Other <pages/third>

.. glossary::

   frame
      What holds it.

.. This is a comment.

.. [1] A footnote.
"""


def _texts(document: ParsedDocument) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks]


def _sections(document: ParsedDocument) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for block in document.blocks:
        if block.kind != "heading":
            found.setdefault(" > ".join(block.headings), []).append(document.text[block.start : block.end])
    return found


def test_restructuredtext_of_sphinx_becomes_plain_markdown() -> None:
    # When documentation with the usual directives and roles is read
    document = read(RST, "text/x-rst")
    # Then its field list is metadata, and its text has the form that people see
    assert (document.title, document.date) == ("Widgets", "2024-05-06")
    sections = _sections(document)
    assert sections["Widgets"] == [
        "- Author: Jane Doe",
        "See PEP 8, no link, `run`, the guide, `Frame` and a page; undefined, `literal *text*` now.",
    ]
    assert sections["Widgets > Use"] == [
        "Warning: Keep away from children.",
        "It burns.",
        "New in version 2.1: Also for adults.",
        "```python\nrun(1)\n\nrun(2)\n```",
        "Like this:",
        "```\n$ widget --now\n```",
        "1. First.",
        "2. Second:",
        "  - inner one wrapped",
        "  - inner two",
        "| Name | Meaning |\n| --- | --- |\n| `size` | How \\| large |",
        "| a | b |\n| --- | --- |\n| 1 | 2 |",
        "- term: What it means.",
        "- `-v`, `--verbose`: Say more.",
        "`widgets.stop`",
        "Still text.",
        "- frame: What holds it.",
        "A footnote.",
    ]
    assert sections["Widgets > Use > LIMIT"] == ["The limit.", "Default: `5`"]
    assert sections["Widgets > Use > run"] == [
        "`run(times, *, fast=False)`",
        "Run it.",
        "- `times`: how often",
        "- Returns: nothing",
    ]
    assert [link.target for link in document.links] == [*("https://example.org/page", "other", "pages/third")]


def test_header_of_a_pep_is_metadata() -> None:
    document = read_rst(
        b"PEP: 8\nTitle: Style Guide\nAuthor: A. Writer,\n        B. Writer\nCreated: 05-Jul-2001\n\nText\n====\nGo."
    )
    assert document.title == "Style Guide"
    assert _texts(document)[:2] == ["- PEP: 8", "- Author: A. Writer, B. Writer"]


def test_restructuredtext_reads_no_file_and_no_raw_markup() -> None:
    # Given documents that ask for files of the machine that reads them
    secret = "/etc/passwd"
    texts = [
        f".. include:: {secret}",
        f".. literalinclude:: {secret}",
        f".. csv-table:: t\n   :file: {secret}",
        f".. csv-table:: t\n   :url: file://{secret}",
        f".. raw:: html\n   :file: {secret}",
        ".. raw:: html\n\n   <script>x</script>",
        f".. figure:: {secret}",
        f".. code:: text\n   :file: {secret}",
    ]
    for text in texts:
        # When they are read
        shown = read_rst(f"Here.\n\n{text}\n".encode()).text
        # Then they get nothing of them
        assert "root:" not in shown
        assert "<script>" not in shown


def test_directives_of_one_document_are_unknown_to_the_next() -> None:
    from docutils.parsers.rst import directives

    read_rst(b".. some-directive:: x\n\n   Text of it.\n")
    assert "some-directive" not in directives._directives


@table(
    ("markdown", "texts"),
    [
        ("# Setup { #setup }\n\n## Next {: .x #y }\n\n### End [\u00b6](#end)\n\nHi.", ["Setup", "Next", "End", "Hi."]),
        (":::{note} Mind this\n:class: x\n\nText.\n:::", ["Mind this: Text."]),
        ("::: tip\nText.\n:::\n\nMore.", ["Tip: Text.", "More."]),
        (":::warning[Careful]\n\n- one\n\n:::", ["Careful:", "- one"]),
        ('!!! danger "Hot"\n    It *burns*.\n\n    Twice.\nOut.', ["Hot: It burns.", "Twice.", "Out."]),
        ("/// info | About\n\nText.\n\n///\n\nOut.", ["About: Text.", "Out."]),
        ("> [!NOTE]\n> Text.", ["Note: Text."]),
        ('=== "Linux"\n\n    ```sh\n    ls\n    ```\n', ["Linux:", "```sh\nls\n```"]),
        ("```{code-block} python\n:caption: x\n\na = 1\n```", ["```python\na = 1\n```"]),
        ("```{warning}\nText with `code`.\n```", ["Warning: Text with `code`."]),
        ("```python hl_lines=\"1\"\na = 1\n\nb = 2\n```", ["```python\na = 1\n\nb = 2\n```"]),
        ("~~~\n:::{note}\n!!! x\n~~~", ["```\n:::{note}\n!!! x\n```"]),
        ("```{versionadded} 1.2\nFaster.\n```", ["New in version 1.2: Faster."]),
        ("(label)=\n## Title\n\nSee {func}`~a.b`, {doc}`page`, {pep}`8`.", ["Title", "See `b`, page, PEP 8."]),
        ("[Go](x.md){ .button }now and ![pic](x.png){width=3}.", ["Gonow and pic."]),
        ("Term\n:   What it is.\n\nOther\n:   More.", ["- Term: What it is.", "- Other: More."]),
        (":::{glossary}\nword\n  What it means.\n\n  More.\n:::", ["word: What it means.", "More."]),
        ("1. one\n2. two\n   - in\n\n   again\n3. three", ["1. one", "2. two", "  - in", "  again", "3. three"]),
        ("{* ../src/x.py ln[1] *}\n\n--8<-- \"y.md\"\n\nText.", ["Text."]),
        ("import Tabs from '@theme/Tabs';\n\nText.", ["Text."]),
        ("<details><summary>More</summary><ul><li>one</li></ul></details>", ["More", "- one"]),
        ("Text with `a|b` and ``c`d``.", ["Text with `a|b` and `` c`d ``."]),
        ("A: b\n: c d", ["- A: b: c d"]),
    ],
)  # fmt: skip
def test_dialects_of_markdown_become_plain_markdown(markdown: str, texts: list[str]) -> None:
    document = read_markdown(markdown.encode())
    assert _texts(document) == texts


def test_page_of_sphinx_becomes_plain_markdown() -> None:
    # Given a page as Sphinx writes it
    body = """<html><body><div class="sphinxsidebar"><p>Menu</p></div><div class="document"><div class="body">
    <h1>Cache<a class="headerlink" href="#cache" title="Link">\u00b6</a></h1>
    <p>Use <code class="docutils literal"><span class="pre">cache_key</span> <span class="pre">=</span></code>.</p>
    <div class="highlight-python notranslate"><div class="highlight"><pre><span></span><span>a</span> = 1

b = 2</pre></div></div>
    <ol start="3"><li><p>Three</p><ul><li>inner</li></ul></li><li>Four</li></ol>
    <dl class="simple"><dt>term</dt><dd><p>What it is.</p><p>More.</p></dd></dl>
    <dl class="py method"><dt class="sig" id="cache.Cache.get"><span class="descname">get</span>(key)<a
     class="headerlink" href="#x">\u00b6</a></dt><dd><p>Get a value.</p></dd></dl>
    <h2>Next</h2><table class="layout"><tr><td><p>Only text.</p></td></tr></table>
    <table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td><p><code>x</code></p></td><td>1<br>2</td></tr></table>
    </div></div></body></html>""".encode()
    # When it is read
    document = read_html(body)
    # Then the form is that of the page
    assert [(block.headings[-1:], document.text[block.start : block.end]) for block in document.blocks] == [
        ((), "Cache"),
        (("Cache",), "Use `cache_key =`."),
        (("Cache",), "```python\na = 1\n\nb = 2\n```"),
        (("Cache",), "3. Three"),
        (("Cache",), "  - inner"),
        (("Cache",), "4. Four"),
        (("Cache",), "- term: What it is."),
        (("Cache",), "More."),
        (("get",), "`get(key)`"),
        (("get",), "Get a value."),
        (("Cache",), "Next"),
        (("Next",), "Only text."),
        (("Next",), "| a | b |\n| --- | --- |\n| `x` | 1 2 |"),
    ]


def test_restructuredtext_without_text_is_refused() -> None:
    with pytest.raises(DocumentError, match="no text"):
        read(b".. include:: other.rst\n", "text/x-rst")
