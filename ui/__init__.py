"""The pages: `semsearch ui` runs app.py under Streamlit. They import only public names of semsearch."""
