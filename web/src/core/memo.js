// memo.js - draw a component again only when `same(old, next)` says no. Spares the compat layer for one function.
import { Component, h } from "preact";

export function memo(draw, same) {
  return class extends Component {
    shouldComponentUpdate(next) {
      return !same(this.props, next);
    }

    render(props) {
      return h(draw, props);
    }
  };
}
