// Sets the agent's clock ahead by the minutes that the file .minutes-ahead in its home names: some name what they keep
// by the minute, and nobody wants to wait for the next one.
const { existsSync, readFileSync } = require("node:fs");

const file = `${process.env.HOME}/.minutes-ahead`;
const ahead = existsSync(file) ? Number(readFileSync(file, "utf8")) * 60_000 : 0;
const Real = Date;

globalThis.Date = class extends Real {
  constructor(...given) {
    super(...(given.length ? given : [Real.now() + ahead]));
  }

  static now() {
    return Real.now() + ahead;
  }
};
