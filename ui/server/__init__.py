"""The server of the pages: who may come in, and Streamlit behind that."""
