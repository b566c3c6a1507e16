#!/usr/bin/env python3
"""What TensorBoard's plugin PR Curves makes of a folder of event files: a line a run and tag, with the newest step's true
positives, false positives, true negatives and false negatives at a threshold of a half, and precision and recall there.
Ends with 77 where the package tensorboard is absent.

    pr_curve_reader.py DIR
"""
import sys

try:
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins.base_plugin import TBContext
    from tensorboard.plugins.pr_curve.pr_curves_plugin import PrCurvesPlugin
except ImportError:
    sys.exit(77)


def main():
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(sys.argv[1])
    multiplexer.Reload()
    plugin = PrCurvesPlugin(TBContext(data_provider=data_provider.MultiplexerDataProvider(multiplexer, sys.argv[1])))
    for run, tags in plugin.tags_impl(RequestContext(), "").items():
        for tag in tags:
            newest = plugin.pr_curves_impl(RequestContext(), "", [run], tag)[run][-1]
            at = newest["thresholds"].index(0.5)
            counts = [newest[name][at] for name in
                      ("true_positives", "false_positives", "true_negatives", "false_negatives")]
            print(run, tag, *counts, f"{newest['precision'][at]:.4f} {newest['recall'][at]:.4f}")


main()
