from semsearch.cli.main import run

run()
