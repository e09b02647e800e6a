import java.nio.file.Path;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Neo4j Community on a Bolt port of this machine, without a password: BoltServer HOME PORT. */
public class BoltServer {
    public static void main(String[] arguments) {
        var port = Integer.parseInt(arguments[1]);
        var server = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", port))
            .setConfig(GraphDatabaseSettings.auth_enabled, false)
            .build();
        Runtime.getRuntime().addShutdownHook(new Thread(server::shutdown));
    }
}
