#!/usr/bin/env python3
"""What TensorBoard's HParams plugin makes of a folder of event files: a line a parameter, a metric and a trial, in
their order. Ends with 77 where the package tensorboard is absent.

    hparams_reader.py DIR
"""
import sys

try:
    from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
    from tensorboard.context import RequestContext
    from tensorboard.plugins.base_plugin import TBContext
    from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups
except ImportError:
    sys.exit(77)


def main():
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRunsFromDirectory(sys.argv[1])
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, sys.argv[1])
    context = backend_context.Context(TBContext(data_provider=provider))
    asked = RequestContext(), context, "experiment"
    experiment = get_experiment.Handler(*asked, api_pb2.GetExperimentRequest()).run()
    for info in experiment.hparam_infos:
        print("parameter", info.name, api_pb2.DataType.Name(info.type))
    for info in experiment.metric_infos:
        print("metric", info.name.tag)
    request = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=1000,
        allowed_statuses=list(api_pb2.Status.values()),
    )
    request.col_params.extend(
        [api_pb2.ColParams(hparam=i.name) for i in experiment.hparam_infos]
        + [api_pb2.ColParams(metric=i.name) for i in experiment.metric_infos]
    )
    groups = list_session_groups.Handler(*asked, request).run()
    for group in sorted(groups.session_groups, key=lambda g: int(g.name.rsplit("/", 1)[-1])):
        values = {
            k: v.string_value if v.WhichOneof("kind") == "string_value" else v.number_value
            for k, v in group.hparams.items()
        }
        metrics = {m.name.tag: round(m.value, 5) for m in group.metric_values}
        print(group.name, api_pb2.Status.Name(group.sessions[0].status), values, metrics)


main()
