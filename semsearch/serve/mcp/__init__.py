"""The server for assistants, behind `semsearch mcp`: the Model Context Protocol over stdio or HTTP.

Source: https://modelcontextprotocol.io/specification. Resources, prompts and sampling are left out: tools do.
"""
