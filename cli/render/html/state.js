// What the reader has chosen: a finding, and which findings are listed.

export const kNoFilter = {
  words: "",
  kind: "",
  phase: "",
  diverging: false,
  module: null,
  steps: null
};

export class State {
  constructor() {
    this.selected = 0;
    this.filter = kNoFilter;
    this.listeners = [];
  }

  /** Calls `listener` after each change, with what has changed: "selected" or "filter". */
  watch(listener) {
    this.listeners.push(listener);
  }

  select(number) {
    this.selected = number;
    this.changed("selected");
  }

  narrow(change) {
    this.filter = {...this.filter, ...change};
    this.changed("filter");
  }

  changed(what) {
    for (const listener of this.listeners) listener(what);
  }
}
