"""Messages to the HTML that QTextBrowser can draw: pure functions, made off the GUI thread.

The subset is what was measured to work (tables, exact line heights, span colours; no border on
`<table>`, no `max-width`, no radius). Text of a message reaches the HTML through `runs.html`
alone, which escapes it; addresses of the text never reach the HTML at all.
"""
