"""The documentation site: the pages that MkDocs and Zensical are given, and what is checked of the site they build."""
