"""The table that a benchmark prints while it runs, and keeps for its JSON."""


class Table:
    def __init__(self, only=""):
        self.rows, self.only = [], only

    def add(self, name, value, unit, target, ok, note="", skipped=False):
        self.rows.append({"name": name, "value": value, "unit": unit, "target": target, "ok": bool(ok), "skipped": skipped, "note": note})
        shown = "skipped" if skipped else f"{value:.6g} {unit}"
        print(f"{'ok  ' if ok else '--  ' if skipped else 'MISS'} {name:58} {shown:>20}  target {target}  {note}", flush=True)

    def skip(self, name, why):
        self.add(name, 0.0, "", "", False, why, skipped=True)

    def take(self, rows):
        """Rows of an earlier run."""
        for row in rows:
            self.add(**row)

    def wants(self, name):
        return self.only in name
