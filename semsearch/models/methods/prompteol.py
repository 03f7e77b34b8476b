"""PromptEOL, PromptSTH, PromptSUM: the last token of "This sentence : "…" means in one word:"", after the final norm.

Sources: PromptEOL, Jiang et al. 2023, https://arxiv.org/abs/2307.16645; STH ("means something") and SUM ("can be
summarized as"), Zhang et al. 2024, https://arxiv.org/abs/2404.03921. In-context examples are left out.
"""

from __future__ import annotations

from semsearch.models.methods._last_token import LastToken

Method = LastToken
